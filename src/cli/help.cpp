#include "cli/help.hpp"

#include <algorithm>

#include "base/exit_status.hpp"

namespace rlock::cli {
namespace {

constexpr std::size_t max_width = 80;
constexpr std::size_t option_indent = 28;
constexpr std::size_t status_indent = 13;

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

// "NAME" in its column, and text beside it; on the next line where the name is too long.
std::string entry(std::string name, std::string_view text, std::size_t indent) {
  if (name.size() + 2 > indent) name += "\n" + std::string(indent, ' ');
  return padded(std::move(name), indent) + wrapped(text, indent, max_width) + "\n";
}

std::string exit_statuses() {
  std::string text = "Exit status:\n";
  for (const auto& row : base::exit_table) text += entry("  " + std::string(row.status), row.when, status_indent);
  return text;
}

std::string option_entry(const OptionRow& row) {
  std::string name = row.letter != '\0' ? std::string{' ', ' ', '-', row.letter, ',', ' '} : std::string(6, ' ');
  name += "--" + std::string(row.name);
  if (!row.value.empty()) name += " " + std::string(row.value);
  return entry(std::move(name), full_help(row), option_indent);
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t column = indent;
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (column > indent && column + 1 + word.size() > width) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string full_help(const OptionRow& row) {
  std::string more;
  if (!row.default_text.empty()) more = "default " + std::string(row.default_text);
  if (!row.environment.empty()) more += (more.empty() ? "" : "; ") + std::string(row.environment);
  return std::string(row.help) + (more.empty() ? "" : " [" + more + "]");
}

std::string overview() {
  std::string text = "rlock: hold a lock on a Redis or Valkey server while a command runs\n\nUsage:\n";
  for (const auto& verb : verb_table()) {
    const auto usage = "  rlock " + padded(std::string(verb.name), 8) + "[OPTIONS] " + std::string(verb.words_text);
    text += entry(usage, verb.help, 52);
  }
  text += "  rlock help [VERB]\n\nrlock VERB --help lists the options of each. rlock --version prints the version.\n\n";
  return text + exit_statuses();
}

std::string help_of(const VerbRow& verb) {
  std::string text = "Usage: rlock " + std::string(verb.name) + " [OPTIONS] " + std::string(verb.words_text) + "\n" +
                     std::string(verb.help) + "\n";
  for (const auto group : {Group::lock, Group::waiting, Group::command, Group::server, Group::output}) {
    std::string entries;
    for (const auto& row : option_table()) {
      if (row.group == group && (row.verbs & verb.bit) != 0) entries += option_entry(row);
    }
    if (!entries.empty()) text += "\n" + std::string(group_title(group)) + ":\n" + entries;
  }
  text += "  -h, --help" + std::string(option_indent - 12, ' ') + "Print this help\n" + "  -V, --version" +
          std::string(option_indent - 15, ' ') + "Print the version\n\nExamples:\n";
  for (const auto& example : verb.examples) {
    if (example.command.empty()) break;
    text += "  # " + std::string(example.what) + "\n  " + std::string(example.command) + "\n";
  }
  return text + "\n" + exit_statuses();
}

}  // namespace rlock::cli
