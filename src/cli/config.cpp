#include "cli/config.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace rlock::cli {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// "PATH line N": CLI11 does not say where it found an item. Without a number where the line is written in another way.
std::string place(const std::string& path, const std::string& text, const CLI::ConfigItem& item) {
  std::istringstream lines(text);
  std::string line;
  std::string_view section;
  const std::string wanted = item.parents.empty() ? "" : item.parents.front();
  std::string held;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto content = trimmed(line);
    if (content.starts_with('[')) {
      held = content.substr(1, content.find(']') - 1);
      section = held;
    } else if (section == wanted && trimmed(content.substr(0, content.find_first_of("= \t"))) == item.name) {
      return path + " line " + std::to_string(number);
    }
  }
  return path;
}

Result<void> apply(Settings& settings, const CLI::ConfigItem& item, const VerbRow& verb, const std::string& path,
                   const std::string& text) {
  if (item.name == "++" || item.name == "--") return {};  // CLI11's marks where a section begins and ends
  if (!item.parents.empty() && item.parents != std::vector<std::string>{std::string(verb.name)}) {
    if (item.parents.size() == 1 && find_verb(item.parents.front()) != nullptr) return {};
    return fail(ErrorCode::configuration,
                place(path, text, item) + ": [" + item.parents.front() + "] is not a verb of rlock");
  }
  const auto* row = item.name == "config" ? nullptr : find_option(item.name);
  if (row == nullptr) {
    return fail(ErrorCode::configuration,
                place(path, text, item) + ": '" + item.name + "' is not an option that a file can set");
  }
  if ((row->verbs & verb.bit) == 0 || settings.is_settled(*row)) return {};
  if (item.inputs.size() != 1) {
    return fail(ErrorCode::configuration, place(path, text, item) + ": '" + item.name + "' takes one value");
  }
  if (row->name == "server") settings.options().server_is_from_file = true;
  return settings.set(*row, item.inputs.front(), place(path, text, item), ErrorCode::configuration);
}

Result<void> read_file(Settings& settings, const VerbRow& verb, const std::string& path) {
  std::ifstream stream(path);
  if (!stream) return base::fail_errno(ErrorCode::configuration, "cannot read the configuration file " + path);
  return read_configuration(settings, verb, stream, path);
}

}  // namespace

Result<void> read_configuration(Settings& settings, const VerbRow& verb, std::istream& stream,
                                const std::string& path) {
  std::string text;
  for (std::string line; std::getline(stream, line);) text += line + "\n";
  if (stream.bad()) return fail(ErrorCode::configuration, "cannot read the configuration file " + path);
  try {
    std::istringstream input(text);
    auto items = CLI::ConfigTOML().from_config(input);
    // What is set stays set, so the sections come before the lines above them.
    std::ranges::stable_partition(items, [](const CLI::ConfigItem& item) { return !item.parents.empty(); });
    for (const auto& item : items) {
      if (auto applied = apply(settings, item, verb, path, text); !applied) return applied;
    }
  } catch (const CLI::Error& error) {
    return fail(ErrorCode::configuration, path + ": " + error.what());
  }
  return {};
}

Result<void> read_configuration(Settings& settings, const VerbRow& verb) {
  if (const auto& named = settings.options().config_file; !named.empty()) return read_file(settings, verb, named);
  std::string own;
  if (const char* home = std::getenv("XDG_CONFIG_HOME"); home != nullptr && *home != '\0') {
    own = std::string(home) + "/rlock.conf";
  } else if (const char* user = std::getenv("HOME"); user != nullptr && *user != '\0') {
    own = std::string(user) + "/.config/rlock.conf";
  }
  // The user's file first: what an earlier one has set, a later one leaves alone.
  for (const auto& path : {own, std::string("/etc/rlock.conf")}) {
    if (path.empty() || ::access(path.c_str(), F_OK) != 0) continue;
    if (auto read = read_file(settings, verb, path); !read) return read;
  }
  return {};
}

}  // namespace rlock::cli
