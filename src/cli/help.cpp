#include "cli/help.hpp"

#include <algorithm>

#include "base/exit_status.hpp"
#include "base/text/text.hpp"
#include "stores/registry/registry.hpp"

namespace rlock::cli {
namespace {

constexpr std::size_t max_width = 80;
constexpr std::size_t option_indent = 28;
constexpr std::size_t status_indent = 13;
constexpr std::size_t verb_indent = 42;
constexpr std::size_t server_indent = 48;
constexpr std::string_view durations = "A duration D is 500ms, 30s, 5m, 1h30m or 1d; a bare number is seconds.\n";

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

// "NAME" in its column, and text beside it; on the next line where the name is too long.
std::string entry(std::string name, std::string_view text, std::size_t indent) {
  if (name.size() + 2 > indent) name += "\n" + std::string(indent, ' ');
  return padded(std::move(name), indent) + wrapped(text, indent, max_width) + "\n";
}

// The man page has more of each.
std::string server_urls() {
  std::string text = "Servers (--server URL, or RLOCK_SERVER):\n";
  for (const auto& form : stores::url_forms()) text += entry("  " + std::string(form.url), form.what, server_indent);
  return text;
}

std::string exit_statuses() {
  std::string text = "Exit status:\n";
  for (const auto& row : base::exit_table) text += entry("  " + std::string(row.status), row.when, status_indent);
  return text;
}

// Those that users of the verb meet, in a line or two.
std::string exit_statuses_of(const VerbRow& verb) {
  std::string text;
  for (auto left = verb.exits; !left.empty();) {
    const auto* row = std::ranges::find(base::exit_table, base::take_word(left), &base::ExitRow::status);
    text += (text.empty() ? "" : ", ") + std::string(row->status) + " " + std::string(row->brief);
  }
  return wrapped("Exit status: " + text + "; more in rlock help.", 0, max_width) + "\n";
}

// " [default 30s; $RLOCK_TTL]"; empty: neither.
std::string origin(const OptionRow& row) {
  std::string text;
  if (!row.default_text.empty()) text = "default " + std::string(row.default_text);
  if (!row.environment.empty()) text += (text.empty() ? "$" : "; $") + std::string(row.environment);
  return text.empty() ? text : " [" + text + "]";
}

std::string written(const OptionRow& row) {
  std::string name = row.letter != '\0' ? std::string{' ', ' ', '-', row.letter, ',', ' '} : std::string(6, ' ');
  name += "--" + std::string(row.name);
  if (!row.value.empty()) name += " " + std::string(row.value);
  return name;
}

std::string brief_entry(const OptionRow& row) {
  return entry(written(row), row.help.substr(0, std::min(row.help.find("; "), row.help.find(": "))), option_indent);
}

std::string option_entry(const OptionRow& row) {
  auto text = entry(written(row), row.help, option_indent);
  text.pop_back();
  auto more = origin(row);
  const auto column = text.size() - text.rfind('\n') - 1;  // npos + 1 is 0
  if (column + more.size() > max_width) more.replace(0, 1, "\n" + std::string(option_indent, ' '));
  return text + more + "\n";
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t column = indent;
  while (!text.empty()) {
    const auto word = base::take_word(text);
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

std::string overview(Help help) {
  std::string text =
      "rlock: hold a lock in Redis, Valkey, etcd or ZooKeeper while a command runs\n\n"
      "Usage: rlock VERB [OPTIONS] ...\n\n";
  for (const auto& verb : verb_table()) {
    text += entry("  rlock " + std::string(verb.name) + " " + std::string(verb.words_text), verb.help, verb_indent);
  }
  text += entry("  rlock help [VERB]", "The options of VERB, with examples", verb_indent) +
          entry("  rlock --version", "Print the version", verb_indent) + "\nExamples:\n";
  for (const auto& verb : verb_table()) text += "  " + std::string(verb.examples.front().command) + "\n";
  if (help == Help::brief) {
    return text +
           "\nThe server is --server URL, or RLOCK_SERVER. rlock --help lists all URL forms\n"
           "and the exit statuses, rlock VERB -h the options that are needed most.\n";
  }
  return text + "\n" + std::string(durations) + "\n" + server_urls() + "\n" + exit_statuses();
}

std::string help_of(const VerbRow& verb, Help help) {
  const auto name = "rlock " + std::string(verb.name);
  std::string text =
      "Usage: " + name + " [OPTIONS] " + std::string(verb.words_text) + "\n" + std::string(verb.help) + "\n";
  if (help == Help::brief) text += "\n";
  for (const auto group : {Group::lock, Group::waiting, Group::command, Group::server, Group::output}) {
    std::string entries;
    for (const auto& row : option_table()) {
      if (row.group != group || (row.verbs & verb.bit) == 0) continue;
      if (help == Help::whole) entries += option_entry(row);
      if (help == Help::brief && row.is_brief) text += brief_entry(row);
    }
    if (!entries.empty()) text += "\n" + std::string(group_title(group)) + ":\n" + entries;
  }
  if (help == Help::brief) {
    return text + "\nExample: " + std::string(verb.examples.front().command) + "\n" + std::string(durations) +
           "All options: " + name + " --help\n";
  }
  text += entry("  -h, --help", "Print this help; -h prints only what is needed most", option_indent) +
          entry("  -V, --version", "Print the version", option_indent) + "\n" + std::string(durations) +
          exit_statuses_of(verb) + "\nExamples:\n";
  for (const auto& example : verb.examples) {
    if (example.command.empty()) break;
    text += "  # " + std::string(example.what) + "\n  " + std::string(example.command) + "\n";
  }
  return text;
}

}  // namespace rlock::cli
