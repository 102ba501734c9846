#include "cli/parse.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "cli/config.hpp"
#include "cli/tree.hpp"
#include "version.hpp"

namespace rlock::cli {

using commands::Options;
using commands::Verb;

namespace {

const VerbRow* find_verb(std::string_view name) {
  const auto* row = std::ranges::find(verb_table, name, &VerbRow::name);
  return row == verb_table.end() ? nullptr : row;
}

// Walks the arguments as far as they are rlock's own, past options and their values, from one bare word
// to the next. CLI11 gets only what lies before the second word of `run`: it must not see COMMAND, whose
// options it would take for ours and whose "[1,2]" it would split.
class Walk {
 public:
  explicit Walk(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {}

  // Index of the next bare word, as app knows the options before it; nullopt at the end.
  std::optional<std::size_t> next_word(CLI::App& app) {
    while (at_ < arguments_.size()) {
      const auto& argument = arguments_[at_];
      if (only_words_ || argument.size() < 2 || argument.front() != '-') return at_++;
      ++at_;
      if (argument == "--") {
        only_words_ = true;
      } else if (takes_next(app, argument)) {
        ++at_;
      }
    }
    return std::nullopt;
  }

  // What excludes an option of the command line must not come from the environment: the line is nearer.
  void overrule_environment() {
    for (auto* option : met_) {
      for (auto* other : option->get_excludes()) {
        if (std::ranges::find(met_, other) == met_.end()) other->envname("");
      }
    }
  }

  std::vector<std::string> arguments_;

 private:
  // Whether `argument` is an option of app whose value is the next argument.
  bool takes_next(CLI::App& app, std::string_view argument) {
    const auto wants_value = [&](const std::string& name) {
      auto* option = app.get_option_no_throw(name);
      if (option != nullptr) met_.push_back(option);
      return option != nullptr && option->get_items_expected_max() > 0;
    };
    if (argument.starts_with("--")) {
      const auto equals = argument.find('=');
      return wants_value(std::string(argument.substr(0, equals))) && equals == std::string_view::npos;
    }
    // A cluster of short flags: the first one that wants a value has the rest for it, or the next argument.
    for (std::size_t i = 1; i < argument.size(); ++i) {
      if (wants_value("-" + std::string(1, argument[i]))) return i + 1 == argument.size();
    }
    return false;
  }

  std::vector<CLI::Option*> met_;
  std::size_t at_ = 0;
  bool only_words_ = false;
};

std::string footer() {
  std::string text = "Exit status:\n";
  for (const auto& row : base::exit_table) {
    text += "  " + std::string(row.status) + std::string(12 - row.status.size(), ' ') + std::string(row.when) + "\n";
  }
  return text;
}

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) { column_width(32); }
  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: rlock " + usage_ + "\n"; }

 private:
  std::string usage_;
};

int print_overview() {
  std::cout << "rlock: hold a lock on a Redis or Valkey server while a command runs\n\nUsage:\n";
  for (const auto& row : verb_table) {
    std::cout << "  rlock " << row.usage << std::string(44 - row.usage.size(), ' ') << row.help << "\n";
  }
  std::cout << "\nrlock VERB --help tells the options of each. rlock --version prints the version.\n\n" << footer();
  return std::cout.flush() ? base::exit_success : base::exit_internal;
}

int print_help(CLI::App& app, const VerbRow& verb) {
  app.formatter(std::make_shared<HelpFormatter>(std::string(verb.usage)));
  app.description(std::string(verb.help));
  app.footer(footer());
  std::cout << app.help();
  return std::cout.flush() ? base::exit_success : base::exit_internal;
}

// Credentials of a URL must not stay in /proc/PID/cmdline, where every user can read them.
void hide_credentials(char* argument) {
  char* scheme = std::strstr(argument, "://");
  char* at = std::strrchr(argument, '@');
  if (scheme != nullptr && at > scheme) std::fill(scheme + 3, at, '*');
}

int usage_error(const std::string& message) {
  base::log_error(message);
  return base::exit_usage;
}

// What stands for the format before the options are parsed, and where that fails.
bool wants_export(std::span<const std::string> own_words) {
  const auto end = std::ranges::find(own_words, "--");
  return std::find(own_words.begin(), end, "--export") != end;
}

}  // namespace

std::optional<int> parse(std::span<char*> arguments, Options& options) {
  Walk walk({arguments.begin(), arguments.end()});
  Tree tree(options, walk.arguments_);
  auto& app = tree.app();
  const auto verb_at = walk.next_word(app);
  auto& words = walk.arguments_;
  if (!verb_at) {
    const auto has = [&](std::string_view a, std::string_view b) {
      return std::ranges::any_of(words, [&](const auto& word) { return word == a || word == b; });
    };
    if (has("-h", "--help")) return print_overview();
    if (has("-V", "--version")) {
      std::cout << "rlock " << version << "\n";
      return std::cout.flush() ? base::exit_success : base::exit_internal;
    }
    return usage_error("no verb; use rlock run KEY COMMAND, or see rlock --help");
  }
  const auto* verb = find_verb(words[*verb_at]);
  if ((verb == nullptr || verb->verb == Verb::acquire) && wants_export(words)) options.format = commands::Format::shell;
  if (verb == nullptr) {
    return usage_error("'" + words[*verb_at] +
                       "' is no verb of rlock: run, acquire, renew, release, status; see rlock --help");
  }
  options.verb = verb->verb;
  tree.add_verb(verb->verb);

  auto end = words.size();
  if (verb->verb == Verb::run) {
    if (const auto key_at = walk.next_word(app)) {
      end = *key_at + 1;
      auto rest = end;
      if (rest < words.size() && words[rest] == "--") ++rest;
      options.command.assign(words.begin() + static_cast<long>(rest), words.end());
    }
  } else {
    while (walk.next_word(app)) {
    }
  }
  std::for_each(arguments.begin(), arguments.begin() + static_cast<long>(end), hide_credentials);
  // CLI11 wants the last argument first.
  std::vector<std::string> own;
  for (auto i = end; i-- > 0;) {
    if (i != *verb_at) own.push_back(words[i]);
  }
  const std::string see = "; see rlock " + std::string(verb->name) + " --help";
  walk.overrule_environment();
  try {
    app.parse(own);
  } catch (const CLI::CallForHelp&) {
    return print_help(app, *verb);
  } catch (const CLI::ParseError& error) {
    std::string message = error.what();
    message.erase(std::min(message.find('\n'), message.size()));
    return usage_error(message + see);
  }
  if (auto configured = read_configuration(tree, verb->name); !configured) {
    base::log_error(configured.error().message);
    return base::exit_status_of(configured.error().code);
  }
  if (options.key.empty() && app.get_option("KEY")->count() > 0) return usage_error("KEY is empty; name the lock");
  if (options.key.empty() && (verb->verb == Verb::renew || verb->verb == Verb::release)) {
    if (const char* key = std::getenv("RLOCK_KEY")) options.key = key;
    if (options.key.empty()) return usage_error("KEY is missing; name the lock, or set RLOCK_KEY" + see);
  }
  if (verb->verb == Verb::run && options.command.empty()) return usage_error("COMMAND is missing" + see);
  return std::nullopt;
}

}  // namespace rlock::cli
