#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_status.hpp"
#include "base/text/duration.hpp"
#include "cli/help.hpp"
#include "cli/option_table.hpp"
#include "docs/docs.hpp"
#include "docs/mdoc.hpp"
#include "lock/lease.hpp"

namespace rlock::docs {

using namespace std::chrono_literals;

namespace {

using cli::Group;

// A line each, as mdoc wants them.
std::string sentences(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const auto end = std::min(text.find(". "), text.size() - 1) + 1;
    lines += prose(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Which verbs have the option; nothing for one that all have.
std::string verbs_of(const cli::OptionRow& row) {
  if (row.verbs == cli::every_verb) return {};
  std::string verbs;
  for (const auto& verb : cli::verb_table()) {
    if ((verb.bit & row.verbs) != 0) verbs += (verbs.empty() ? "" : ", ") + std::string(verb.name);
  }
  return "(" + verbs + ")\n";
}

std::string options_of(Group group) {
  std::string entries;
  for (const auto& row : cli::option_table()) {
    if (row.group != group) continue;
    entries += ".It";
    if (row.letter != '\0') entries += std::string(" Fl ") + row.letter + " ,";
    entries += " Fl \\-" + std::string(row.name);
    if (!row.value.empty()) entries += " Ar " + argument(row.value);
    entries += "\n";
    entries += verbs_of(row);
    entries += prose(row.help) + ".\n" + sentences(row.more);
    if (!row.default_text.empty()) entries += "The default is " + plain(row.default_text) + ".\n";
    if (!row.environment.empty()) entries += "In the environment:\n.Ev " + std::string(row.environment) + " .\n";
  }
  return ".Ss " + std::string(group_title(group)) + "\n.Bl -tag -width Ds\n" + entries + ".El\n";
}

// The options that a file may hold: what stands for the value, the default, the verbs.
std::string file_options() {
  std::string text;
  for (const auto& row : cli::option_table()) {
    if (row.sources == cli::Sources::command_line) continue;
    const auto value = row.kind == cli::Kind::flag ? std::string_view("true") : row.value;
    text += ".It Cm " + plain(row.name) + " Li = Ar " + argument(value) + "\n" + prose(row.help) + ".\n";
    if (!row.default_text.empty()) text += "The default is " + plain(row.default_text) + ".\n";
    text += verbs_of(row);
  }
  return text;
}

std::string not_in_files() {
  std::vector<std::string> names;
  for (const auto& row : cli::option_table()) {
    if (row.sources == cli::Sources::command_line) names.push_back(".Fl \\-" + plain(row.name));
  }
  std::string text = "A file cannot set\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i + 1 == names.size()) text += "or\n";
    text += names[i] + (i + 2 < names.size() ? " ,\n" : i + 1 < names.size() ? "\n" : " .\n");
  }
  return text;
}

std::string all_options() {
  std::string text;
  for (const auto group : {Group::lock, Group::waiting, Group::command, Group::server, Group::output}) {
    text += options_of(group);
  }
  return text;
}

std::string environment() {
  std::string text;
  for (const auto& row : cli::option_table()) {
    if (row.environment.empty()) continue;
    text += ".It Ev " + std::string(row.environment) + "\nAs\n.Fl \\-" + std::string(row.name) + " .\n";
  }
  return text;
}

std::string synopsis() {
  std::string text;
  for (const auto& verb : cli::verb_table()) {
    text += ".Nm\n.Cm " + std::string(verb.name) + "\n.Op Ar OPTIONS\n.Ar " + argument(verb.words_text) + "\n";
  }
  return text;
}

std::string verbs() {
  std::string text;
  for (const auto& verb : cli::verb_table()) {
    text += ".It Cm " + std::string(verb.name) + "\n" + plain(verb.help) + ".\n";
  }
  return text;
}

std::string exit_statuses() {
  std::string text;
  for (const auto& row : base::exit_table) text += ".It " + argument(row.status) + "\n" + plain(row.when) + ".\n";
  return text;
}

// "13.6 s", rounded down; whole seconds from a minute on.
std::string seconds(std::chrono::nanoseconds time) {
  const auto tenths = std::chrono::floor<std::chrono::milliseconds>(time).count() / 100;
  if (tenths >= 600) return std::to_string(tenths / 10) + " s";
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

// COMMAND is asked to end at the deadline less what ending and killing take.
std::string outages() {
  std::string text;
  for (const auto& ttl : {6s, 15s, 30s, 60s, 300s}) {
    const auto terms = lock::LeaseTerms::make(ttl, std::nullopt, lock::Renewing::yes);
    if (!terms) continue;
    const auto longest = terms->usable() - terms->kill_after - terms->kill_time;
    const auto renewal = terms->renew_at({}) - base::Instant{};
    text += ".It " + base::format_duration(ttl) + " Ta " + seconds(longest - renewal) + " Ta " + seconds(longest) +
            " Ta " + seconds(terms->kill_after) + "\n";
  }
  return text;
}

std::string examples() {
  std::string text;
  for (const auto& verb : cli::verb_table()) {
    for (const auto& example : verb.examples) {
      if (example.command.empty()) break;
      text += (text.empty() ? "" : ".Pp\n") + plain(example.what) + "\n.Bd -literal -offset 2n\n" +
              plain(example.command) + "\n.Ed\n";
    }
  }
  return text;
}

}  // namespace

Parts manual_parts() {
  return {
      {"synopsis", synopsis()},         {"verbs", verbs()},
      {"options", all_options()},       {"environment", environment()},
      {"not_in_files", not_in_files()}, {"exit_statuses", exit_statuses()},
      {"examples", examples()},         {"outages", outages()},
      {"file_options", file_options()},
  };
}

}  // namespace rlock::docs
