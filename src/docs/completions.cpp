#include <string>
#include <utility>
#include <vector>

#include "cli/option_table.hpp"
#include "docs/docs.hpp"
#include "stores/registry/registry.hpp"

namespace rlock::docs {
namespace {

using cli::Kind;
using cli::OptionRow;

bool takes_value(const OptionRow& row) { return row.kind != Kind::flag; }
bool takes_key(const OptionRow& row) { return row.value == "KEY"; }
bool tells_server(const OptionRow& row) { return row.group == cli::Group::server && row.kind != Kind::duration; }

std::string long_name(const OptionRow& row) { return "--" + std::string(row.name); }
std::string short_name(const OptionRow& row) { return row.letter == '\0' ? "" : std::string{'-', row.letter}; }

std::string joined(const std::vector<std::string>& texts, std::string_view between) {
  std::string all;
  for (const auto& text : texts) all.append(all.empty() ? "" : between).append(text);
  return all;
}

// Of each wanted row what `of` makes of it, with `between` between them.
std::string list(std::string_view between, auto&& wanted, auto&& of) {
  std::string result;
  for (const auto& row : cli::option_table()) {
    if (!wanted(row)) continue;
    if (!result.empty()) result += between;
    result += of(row);
  }
  return result;
}

std::string names(const OptionRow& row, std::string_view between) {
  const auto letter = short_name(row);
  return (letter.empty() ? "" : letter + std::string(between)) + long_name(row);
}

// "-t|--ttl|--slots": a pattern of a case.
std::string pattern(auto&& wanted) {
  return list("|", wanted, [](const OptionRow& row) { return names(row, "|"); });
}

std::string letters(auto&& wanted) {
  return list("", wanted, [](const OptionRow& row) { return row.letter == '\0' ? "" : std::string{row.letter}; });
}

std::string option_names(unsigned verbs) {
  return list(" ", [&](const OptionRow& row) { return (row.verbs & verbs) == verbs; }, long_name) + " --help";
}

// "renew|release": the verbs that take these words.
std::string verbs_with(cli::Words words, std::string_view between) {
  std::vector<std::string> names;
  for (const auto& verb : cli::verb_table()) {
    if (verb.words == words) names.emplace_back(verb.name);
  }
  return joined(names, between);
}

std::string verb_names() {
  std::string text;
  for (const auto& verb : cli::verb_table()) text += std::string(verb.name) + " ";
  return text + "help";
}

std::string spaced(std::string_view choices) {
  std::string result(choices);
  for (char& c : result) c = c == '|' ? ' ' : c;
  return result;
}

// Values to choose from, or useful ones to begin with; empty: none.
std::string values_of(const OptionRow& row) {
  if (row.kind == Kind::choice) return spaced(row.value);
  if (row.kind == Kind::duration) return "500ms 1s 5s 10s 30s 1m 5m 30m 1h 12h 1d";
  if (row.name == "signal") return "TERM INT HUP QUIT USR1 USR2 KILL";
  if (row.name == "conflict-exit-code") return "0 75";
  if (row.name == "server") return joined(stores::url_starts(), " ");
  return {};
}

// Inside single quotes.
std::string quoted(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result;
}

// The parts that the texts for all shells have.
Parts common_parts() {
  return {{"verb_names", verb_names()},
          {"valued", pattern(takes_value)},
          {"valued_letters", letters(takes_value)},
          {"flag_letters", letters([](const OptionRow& row) { return !takes_value(row); }) + "hV"},
          {"server_options", pattern(tells_server)},
          {"command_verbs", verbs_with(cli::Words::key_command, "|")},
          {"token_verbs", verbs_with(cli::Words::key_token, "|")}};
}

// In _arguments of zsh a help ends at ], a message at :.
std::string in_spec(std::string_view text) {
  std::string result;
  for (const char c : quoted(text)) {
    if (c == '[' || c == ']' || c == ':') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_spec(const OptionRow& row) {
  auto tail = "[" + in_spec(row.help) + "]";
  if (takes_value(row)) {
    const auto values = values_of(row);
    tail += ":" + std::string(row.kind == Kind::choice ? "choice" : row.value) + ":" +
            (row.kind == Kind::file ? "_files"
             : takes_key(row)       ? "_rlock_keys"
             : row.name == "server" ? "_rlock_servers"
             : values.empty()       ? " "
                                    : "(" + values + ")");
  }
  const auto letter = short_name(row);
  std::string text;
  if (!letter.empty()) text += "'(" + long_name(row) + ")" + letter + (takes_value(row) ? "+" : "") + tail + "' ";
  text +=
      "'" + (letter.empty() ? "" : "(" + letter + ")") + long_name(row) + (takes_value(row) ? "=" : "") + tail + "'";
  return "      " + text + "\n";
}

// For -d of fish, in single quotes.
std::string in_fish(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return result;
}

std::string fish_line(const OptionRow& row) {
  std::string text = "complete -c rlock -n '";
  if (row.verbs == cli::every_verb) {
    text += "not __rlock_is \"run command\"";
  } else {
    text += "__rlock_verb";
    for (const auto& verb : cli::verb_table()) {
      if ((verb.bit & row.verbs) != 0) text += " " + std::string(verb.name);
    }
  }
  text += "'";
  if (row.letter != '\0') text += std::string(" -s ") + row.letter;
  text += " -l " + std::string(row.name);
  const auto values = values_of(row);
  if (row.kind == Kind::file) {
    text += " -rF";
  } else if (takes_key(row)) {
    text += " -xa '(__rlock_keys)'";
  } else if (!values.empty()) {
    text += " -xka '" + values + "'";
  } else if (takes_value(row)) {
    text += " -x";
  }
  return text + " -d '" + in_fish(row.help) + "'\n";
}

}  // namespace

Parts bash_parts() {
  auto parts = common_parts();
  parts["key_options"] = pattern(takes_key);
  parts["file_options"] = pattern([](const OptionRow& row) { return row.kind == Kind::file; });
  parts["every_option"] = option_names(cli::every_verb);
  auto& cases = parts["value_cases"];
  for (const auto& row : cli::option_table()) {
    const auto values = values_of(row);
    if (values.empty()) continue;
    const std::string_view more = row.name == "server" ? " && compopt -o nospace 2>/dev/null" : "";
    cases += "    " + names(row, " | ") + ") _rlock_among '" + values + "'" + std::string(more) + " ;;\n";
  }
  auto& verbs = parts["verb_cases"];
  for (const auto& verb : cli::verb_table()) {
    verbs += "    " + std::string(verb.name) + ") _rlock_verb " + option_names(verb.bit) + " ;;\n";
  }
  return parts;
}

Parts zsh_parts() {
  auto parts = common_parts();
  parts["server_starts"] = values_of(*cli::find_option("server"));
  auto& cases = parts["spec_cases"];
  const auto branch = [&](std::string_view name, unsigned verbs) {
    cases += "    (" + std::string(name) + ") specs=(\n" +
             list(
                 "", [&](const OptionRow& row) { return (row.verbs & verbs) == verbs; }, zsh_spec) +
             "      '(-h --help)'{-h,--help}'[Print this help]'\n      ) ;;\n";
  };
  branch("every", cli::every_verb);
  auto& descriptions = parts["verb_descriptions"];
  for (const auto& verb : cli::verb_table()) {
    branch(verb.name, verb.bit);
    descriptions += "        '" + std::string(verb.name) + ":" + quoted(verb.help) + "'\n";
  }
  return parts;
}

Parts fish_parts() {
  auto parts = common_parts();
  parts["valued_words"] = list(" ", takes_value, [](const OptionRow& row) { return names(row, " "); });
  parts["server_words"] = list(" ", tells_server, long_name);
  parts["server_assignments"] =
      list(" ", tells_server, [](const OptionRow& row) { return "'" + long_name(row) + "=*'"; });
  parts["option_lines"] = list("", [](const OptionRow&) { return true; }, fish_line);
  parts["command_verbs"] = verbs_with(cli::Words::key_command, " ");
  auto& lines = parts["verb_lines"];
  auto& key_places = parts["key_places"];
  for (const auto& verb : cli::verb_table()) {
    key_places += (key_places.empty() ? "\"" : " \"") + std::string(verb.name) + " key\"";
    lines +=
        "complete -c rlock -n '__rlock_is none' -a " + std::string(verb.name) + " -d '" + in_fish(verb.help) + "'\n";
  }
  return parts;
}

}  // namespace rlock::docs
