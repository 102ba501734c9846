#include "cli/config.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace rlock::cli {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

// CLI11 itself would let the file win over the environment; and it takes an empty variable for none.
bool is_set(const CLI::Option& option) {
  return option.count() > 0 || (!option.get_envname().empty() && std::getenv(option.get_envname().c_str()) != nullptr);
}

Result<void> apply(Tree& tree, const CLI::ConfigItem& item, std::string_view verb, const std::string& path) {
  if (item.name == "++" || item.name == "--") return {};  // CLI11's marks where a section begins and ends
  if (!item.parents.empty() && item.parents != std::vector<std::string>{std::string(verb)}) {
    const bool known = item.parents.size() == 1 &&
                       std::ranges::find(verb_table, item.parents.front(), &VerbRow::name) != verb_table.end();
    if (known) return {};
    return fail(ErrorCode::configuration, path + ": [" + item.parents.front() + "] is no verb of rlock");
  }
  const auto name = "--" + item.name;
  const bool is_ours = item.name != "config" && Tree::is_option(name);
  auto* option = is_ours ? tree.find_option(name) : nullptr;
  if (option == nullptr) {
    if (is_ours) return {};
    return fail(ErrorCode::configuration, path + ": '" + item.name + "' is no option that a file can set");
  }
  if (is_set(*option)) return {};
  // -w and -n exclude each other, so what stands nearer wins over what the file says of either.
  for (const auto* other : option->get_excludes()) {
    if (is_set(*other)) return {};
  }
  try {
    for (const auto& input : item.inputs) option->add_result(input);
    option->run_callback();
    if (name == "--server") tree.options().server_is_from_file = true;
  } catch (const CLI::Error& error) {
    return fail(ErrorCode::configuration, path + ": " + error.what());
  }
  return {};
}

Result<void> read_file(Tree& tree, std::string_view verb, const std::string& path) {
  std::ifstream stream(path);
  if (!stream) return base::fail_errno(ErrorCode::configuration, "cannot read the configuration file " + path);
  return read_configuration(tree, verb, stream, path);
}

}  // namespace

Result<void> read_configuration(Tree& tree, std::string_view verb, std::istream& stream, const std::string& path) {
  try {
    auto items = CLI::ConfigTOML().from_config(stream);
    // What is set stays set, so the sections come before the lines above them.
    std::ranges::stable_partition(items, [](const CLI::ConfigItem& item) { return !item.parents.empty(); });
    for (const auto& item : items) {
      if (auto applied = apply(tree, item, verb, path); !applied) return applied;
    }
  } catch (const CLI::Error& error) {
    return fail(ErrorCode::configuration, path + ": " + error.what());
  }
  if (stream.bad()) return fail(ErrorCode::configuration, "cannot read the configuration file " + path);
  return {};
}

Result<void> read_configuration(Tree& tree, std::string_view verb) {
  if (const auto* config = tree.app().get_option_no_throw("--config"); config != nullptr && config->count() > 0) {
    tree.options().config_file = config->as<std::string>();
    return read_file(tree, verb, tree.options().config_file);
  }
  std::string own;
  if (const char* home = std::getenv("XDG_CONFIG_HOME"); home != nullptr && *home != '\0') {
    own = std::string(home) + "/rlock.conf";
  } else if (const char* user = std::getenv("HOME"); user != nullptr && *user != '\0') {
    own = std::string(user) + "/.config/rlock.conf";
  }
  // The user's file first: what an earlier one has set, a later one leaves alone.
  for (const auto& path : {own, std::string("/etc/rlock.conf")}) {
    if (path.empty() || ::access(path.c_str(), F_OK) != 0) continue;
    if (auto read = read_file(tree, verb, path); !read) return read;
  }
  return {};
}

}  // namespace rlock::cli
