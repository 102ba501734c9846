#include "cli/parse.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "base/text/text.hpp"
#include "cli/command_line.hpp"
#include "cli/config.hpp"
#include "cli/help.hpp"
#include "cli/nearest.hpp"
#include "cli/versions.hpp"
#include "show/log_json.hpp"
#include "show/print.hpp"

namespace rlock::cli {

using base::ErrorCode;
using base::fail;
using base::Result;
using commands::Options;
using show::LogFormat;

namespace {

Finished printed(std::string_view text) { return {show::print_for_reader(text)}; }

Finished print_version() { return printed(versions()); }

Finished failed(const base::Error& error) {
  const int status = base::exit_status_of(error.code);
  base::log_error(base::without_credentials(error.message), {"error", {{"exit_status", std::int64_t{status}}}});
  return {status};
}

// Credentials of a URL must not stay in /proc/PID/cmdline, where every user can read them.
void hide_credentials(char* argument) {
  char* scheme = std::strstr(argument, "://");
  char* at = std::strrchr(argument, '@');
  if (scheme != nullptr && at > scheme) std::fill(scheme + 3, at, '*');
}

std::unexpected<base::Error> unknown_verb(const std::string& word) {
  std::vector<std::string_view> names{"help"};
  for (const auto& verb : verb_table()) names.push_back(verb.name);
  auto near = nearest(word, names);
  for (const auto& verb : verb_table()) {
    if (has_word(verb.also, word)) near = verb.name;
  }
  const auto message = in_quotes(word) + " is not a verb of rlock";
  if (!near.empty()) return fail(ErrorCode::usage, message + "; did you mean " + std::string(near) + "?");
  return fail(ErrorCode::usage, message + "; write rlock run KEY -- COMMAND, or see rlock --help");
}

// Tells the format before the options are parsed, and if parsing fails. A mistyped --export counts too.
bool wants_export(std::span<const std::string> own_words) {
  constexpr std::array<std::string_view, 1> name{"export"};
  return std::ranges::any_of(own_words, [&](std::string_view word) {
    if (!word.starts_with('-')) return false;
    word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
    return !nearest(word, name).empty();
  });
}

bool takes_value(std::string_view word) {
  if (word.contains('=')) return false;
  const auto names = option_table();
  const auto row = std::ranges::find_if(names, [&](const OptionRow& each) {
    return word.starts_with("--") ? each.name == word.substr(2) : each.letter != '\0' && each.letter == word.back();
  });
  return row != names.end() && row->kind != Kind::flag;
}

// The format that the command line asks for counts for what is wrong with it, wherever it stands before COMMAND. Only
// when something is wrong: else the parser has set it.
void set_log_format_of(std::span<const std::string> words) {
  constexpr std::string_view name = "--log-format";
  const auto set = [](std::string_view format) {
    if (format == "json" || format == "text")
      show::set_log_format(format == "json" ? LogFormat::json : LogFormat::text);
  };
  std::size_t others = 0;  // the verb, KEY
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const auto& word = words[i];
    if (word.size() < 2 || word.front() != '-') {
      if (++others == 2 && words.front() == "run") return;
    } else if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) {
      set(std::string_view(word).substr(name.size() + 1));
    } else if (takes_value(word) && ++i < words.size() && word == name) {
      set(words[i]);
    }
  }
}

Finished help(std::span<const std::string> words) {
  if (!words.empty() && words.front() == "-h") return printed(overview(Help::brief));
  if (words.empty() || words.front() == "--help") return printed(overview(Help::whole));
  if (words.size() > 1)
    return failed({ErrorCode::usage, "unexpected argument " + in_quotes(words[1]) + "; write rlock help [VERB]"});
  if (words.front() == "help") return printed(overview(Help::whole));
  const auto* verb = find_verb(words.front());
  return verb == nullptr ? failed(unknown_verb(words.front()).error()) : printed(help_of(*verb, Help::whole));
}

constexpr std::size_t max_words(Words words) {
  if (words == Words::key_command) return std::numeric_limits<std::size_t>::max();
  return words == Words::key_token ? 2 : 1;
}

// What may stand behind the verb, without the options.
std::string form(const VerbRow& verb) {
  const auto words = verb.words == Words::key_command ? "KEY -- COMMAND" : verb.words_text;
  return "rlock " + std::string(verb.name) + " " + std::string(words);
}

Result<void> take_words(Options& options, const VerbRow& verb, Parsed& parsed) {
  auto& words = parsed.words;
  if (words.size() > max_words(verb.words)) {
    return fail(ErrorCode::usage,
                "unexpected argument " + in_quotes(words[max_words(verb.words)]) + "; write " + form(verb));
  }
  const bool key_may_come_from_environment = verb.words == Words::key_token;
  if (!words.empty()) {
    options.key = words[0];
    if (options.key.empty()) return fail(ErrorCode::usage, "KEY is empty; name the lock");
  } else if (const char* key = std::getenv("RLOCK_KEY"); key_may_come_from_environment && key != nullptr) {
    options.key = key;
  }
  if (options.key.empty() && verb.words != Words::optional_key) {
    return fail(ErrorCode::usage,
                "KEY is missing; write " + form(verb) + (key_may_come_from_environment ? ", or set RLOCK_KEY" : ""));
  }
  if (verb.words == Words::key_token && words.size() > 1) {
    options.token = words[1];
    // The one of the environment may be that of another key.
    if (options.token.empty())
      return fail(ErrorCode::usage, "TOKEN is empty; give it, or leave it out for RLOCK_TOKEN");
  }
  if (verb.words != Words::key_command) return {};

  auto command = words.begin() + 1;
  if (command != words.end() && *command == "--") {
    ++command;
  } else if (command != words.end() && command->size() > 1 && command->starts_with('-')) {
    if (is_shell_line(*command)) {
      return fail(ErrorCode::usage,
                  in_quotes(*command) + " is not an option of rlock run" + std::string(instead_of_shell_line));
    }
    return fail(ErrorCode::usage, in_quotes(command->substr(0, command->find('='))) +
                                      " comes after KEY; options go before KEY, and COMMAND after --");
  }
  options.command.assign(std::move_iterator(command), std::move_iterator(words.end()));
  if (options.command.empty()) {
    // `rlock run -- ./job.sh`: the only word is the command, and an unset variable may have been the key.
    return fail(ErrorCode::usage,
                std::string(parsed.has_mark ? "KEY" : "COMMAND") + " is missing; write " + form(verb));
  }
  return {};
}

}  // namespace

std::variant<Handler, Finished> parse(std::span<char*> arguments, Options& options) {
  const std::vector<std::string> all(arguments.begin(), arguments.end());
  Settings settings(options);

  auto parsed = parse_up_to_word(settings, every_verb, "rlock", all);
  if (!parsed) {
    set_log_format_of(all);
    if (wants_export(all)) options.format = commands::Format::shell;
    return failed(parsed.error());
  }
  auto& words = parsed->words;
  if (parsed->wants_version) return print_version();
  if (words.empty()) {
    if (parsed->help) return printed(overview(*parsed->help));
    return failed({ErrorCode::usage, "no verb; write rlock run KEY -- COMMAND, or see rlock --help"});
  }
  const auto* verb = find_verb(words.front());
  const auto behind_verb = std::span(all).last(words.size() - 1);
  if (verb == nullptr && words.front() == "help") return help(behind_verb);
  const bool exports = (verb == nullptr || verb->bit == acquire) && wants_export(all);
  if (exports) options.format = commands::Format::shell;
  if (verb == nullptr) set_log_format_of(all);
  if (verb == nullptr) return failed(unknown_verb(words.front()).error());
  const auto name = "rlock " + std::string(verb->name);
  const auto refused = [&](const base::Error& error) {
    if (exports) options.format = commands::Format::shell;
    return failed(error);
  };

  const auto help_before = parsed->help;
  parsed = verb->words == Words::key_command ? parse_up_to_word(settings, verb->bit, name, behind_verb)
                                             : parse_all(settings, verb->bit, name, behind_verb);
  // The rest of `run` is its KEY and COMMAND, which must not be changed.
  const auto not_ours = parsed && verb->words == Words::key_command ? parsed->words.size() : 0;
  std::ranges::for_each(arguments.first(arguments.size() - not_ours), hide_credentials);
  if (!parsed) {
    set_log_format_of(all);
    return refused(parsed.error());
  }
  if (const auto help = std::max(help_before, parsed->help)) return printed(help_of(*verb, *help));
  if (parsed->wants_version) return print_version();

  if (auto taken = take_words(options, *verb, *parsed); !taken) return refused(taken.error());
  if (auto needed = settings.check_needs(*verb); !needed) return refused(needed.error());
  if (auto read = settings.read_environment(*verb); !read) return refused(read.error());
  if (auto read = read_configuration(settings, *verb); !read) return refused(read.error());
  settings.set_defaults();
  if (options.verbose) base::set_log_level(base::LogLevel::debug);
  if (options.quiet) base::set_log_level(base::LogLevel::error);
  if (options.syslog) base::log_to_syslog();
  note_strange_variables();
  for (const auto& advice : settings.advice()) base::log_advice(advice);
  return verb->handler;
}

}  // namespace rlock::cli
