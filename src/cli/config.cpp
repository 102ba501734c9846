#include "cli/config.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "base/named_file.hpp"
#include "base/text/text.hpp"
#include "cli/command_line.hpp"
#include "cli/nearest.hpp"
#include "stores/registry/registry.hpp"

namespace rlock::cli {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr std::size_t max_file = 64U << 10U;  // bytes
constexpr const char* machine_file = "/etc/rlock.conf";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// A line of a file, as far as it sets an option.
struct Line {
  std::string place;    ///< "PATH line N"
  std::string section;  ///< empty: above all sections
  Item item;
};

std::unexpected<base::Error> wrong(const std::string& place, const std::string& what) {
  return fail(ErrorCode::configuration, place + ": " + what);
}

constexpr bool is_quote(char c) { return c == '"' || c == '\''; }

// Where the value of NAME = VALUE begins; npos: there is none.
std::size_t value_of(std::string_view line) {
  const auto equals = line.find('=');
  return equals < line.find('#') ? line.find_first_not_of(" \t", equals + 1) : line.npos;
}

// What would be read as another value than whoever wrote it meant, without a word.
std::optional<std::string_view> misread_value(std::string_view line) {
  const auto value = line.starts_with(';') ? line.npos : value_of(line);
  if (value == line.npos) return std::nullopt;
  if (is_quote(line[value])) {
    if (line.find(line[value], value + 1) != line.npos) return std::nullopt;
    return "the quote that its value begins with is not closed";
  }
  const auto hash = line.find('#', value);
  const bool is_comment = hash != value && (hash == line.npos || line[hash - 1] == ' ' || line[hash - 1] == '\t');
  if (is_comment) return std::nullopt;
  return "there is a # in its value; put the value in quotes, or a blank before a comment";
}

// A '#' ends the line, unless it stands in a quoted value: CLI11 2.1 ends the line there too.
std::string_view without_comment(std::string_view line) {
  if (line.starts_with(';')) return {};
  const auto value = value_of(line);
  std::size_t behind_quotes = 0;
  if (value != line.npos && is_quote(line[value])) {
    const auto closing = line.find(line[value], value + 1);
    if (closing != line.npos) behind_quotes = closing + 1;
  }
  return trimmed(line.substr(0, line.find('#', behind_quotes)));
}

// What else a line may be that is neither NAME = VALUE nor [VERB].
std::string_view other_format(std::string_view line) {
  const auto colon = line.find_first_not_of("\"'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_");
  const bool is_pair =
      colon != line.npos && colon > 0 && line[colon] == ':' && (colon + 1 == line.size() || line[colon + 1] == ' ');
  if (line.front() == '{' || line.front() == '}' || (is_pair && line.front() == '"')) return "this is JSON; ";
  if (line.starts_with("---") || line.starts_with("- ") || line.starts_with("%YAML") || is_pair)
    return "this is YAML; ";
  return "";
}

// The only bare words are flags. The text of the line is not repeated: there may be a password in it.
Result<Item> read_item(const std::string& place, std::string_view content) {
  const auto name = trimmed(content.substr(0, content.find('=')));
  const bool is_name = !name.empty() && name.find_first_of(" \t:/@\"'{") == name.npos;
  const auto* row = find_option(name);
  const bool is_flag = row != nullptr && row->kind == Kind::flag;
  if (is_name && (content.find('=') != content.npos || is_flag)) {
    auto item = parse_item(std::string(content));
    if (!item) return wrong(place, item.error().message);
    if (*item) return std::move(**item);
  }
  return wrong(place, std::string(other_format(content)) + "write NAME = VALUE, or [VERB]");
}

std::string did_you_mean(std::string_view near) {
  return near.empty() ? std::string() : "; did you mean " + std::string(near) + "?";
}

std::string unknown_verb(std::string_view section) {
  std::vector<std::string_view> names;
  for (const auto& verb : verb_table()) names.push_back(verb.name);
  const auto shown = base::may_hold_password(section) ? "***" : section;
  return "[" + std::string(shown) + "] is not a verb of rlock" + did_you_mean(nearest(section, names));
}

// --ttl, RLOCK_TTL and connect_timeout are near, too.
std::string unknown_option(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& row : option_table()) {
    if (row.sources != Sources::command_line) names.push_back(row.name);
  }
  auto meant = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  if (meant.starts_with("RLOCK_")) meant.remove_prefix(6);
  std::string spelled(meant);
  std::ranges::replace(spelled, '_', '-');
  return in_quotes(name) + " is not an option of rlock" + did_you_mean(nearest(spelled, names));
}

// CLI11 gets one line at a time, since it does not say in which line it found an item.
Result<std::vector<Line>> read_lines(std::string_view text, const std::string& path) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  if (text.find('\0') != text.npos) return fail(ErrorCode::configuration, path + " is not a text file");
  std::vector<Line> lines;
  std::string section;
  for (int number = 1; !text.empty(); ++number) {
    const auto place = path + " line " + std::to_string(number);
    const auto line = trimmed(base::take_until(text, '\n'));
    if (const auto why = misread_value(line)) return wrong(place, std::string(*why));
    const auto content = without_comment(line);
    if (content.empty()) continue;
    if (content.starts_with('[')) {
      if (!content.ends_with(']')) return wrong(place, "the ] of [VERB] is missing");
      section = trimmed(content.substr(1, content.size() - 2));
      if (find_verb(section) == nullptr) return wrong(place, unknown_verb(section));
    } else {
      lines.push_back({place, section, RLOCK_TRY(read_item(place, content))});
    }
  }
  return lines;
}

// CLI11 splits a value without quotes at its commas: "redis+sentinel://a,b/m" is one URL all the same.
std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (&part == parts.data() ? "" : ",") + part;
  return text;
}

// The lines of one file, one after the other.
class File {
 public:
  File(Settings& settings, const VerbRow& verb) : settings_(settings), verb_(verb) {}

  Result<void> apply(const Line& line) {
    const auto& name = line.item.name;
    const auto* row = find_option(name);
    if (row == nullptr) return wrong(line.place, unknown_option(name));
    if (row->sources == Sources::command_line) {
      return wrong(line.place, "'" + name + "' is not an option that a file can set");
    }
    if (!line.section.empty() && (row->verbs & find_verb(line.section)->bit) == 0) {
      return wrong(line.place, "'" + name + "' is not an option of rlock " + line.section);
    }
    if (line.item.inputs.size() != 1 && !(row->repeatable && !line.item.inputs.empty())) {
      return wrong(line.place,
                   "'" + name + "' takes one value; put one with spaces or commas in quotes, a comment behind #");
    }
    const auto& value = line.item.inputs.front();  // of a repeatable option the first of several
    if (!is_off(*row, value)) {
      if (!row->repeatable && has(line.section, row->name)) return wrong(line.place, "'" + name + "' is set twice");
      for (const auto& [section, other] : earlier_) {
        if (section != line.section || !excludes(*row, other)) continue;
        return wrong(line.place, "'" + name + "' and '" + std::string(other) + "' exclude each other");
      }
      earlier_.emplace_back(line.section, row->name);
    }
    const bool is_for_verb = line.section.empty() || line.section == verb_.name;
    // A further line adds to those before it, not to what has been set elsewhere.
    const bool is_settled =
        settings_.is_settled(*row) && !(goes_on_ && *goes_on_ == std::pair(line.section, row->name));
    if (!is_for_verb || (row->verbs & verb_.bit) == 0 || is_settled) return {};
    if (row->repeatable) goes_on_.emplace(line.section, row->name);
    return settings_.set(*row, joined(line.item.inputs), Source::file, line.place);
  }

 private:
  bool has(const std::string& section, std::string_view name) const {
    return std::ranges::find(earlier_, std::pair(section, name)) != earlier_.end();
  }

  Settings& settings_;
  const VerbRow& verb_;
  std::vector<std::pair<std::string, std::string_view>> earlier_;    ///< section and name
  std::optional<std::pair<std::string, std::string_view>> goes_on_;  ///< of the repeatable option that these lines set
};

bool has_password(const Line& line, const commands::Options& options) {
  return line.item.name == "server" && stores::has_password(joined(line.item.inputs), !options.password_file.empty());
}

// Says whether there is a password in them.
Result<bool> apply(Settings& settings, const VerbRow& verb, const std::string& text, const std::string& path) {
  auto lines = RLOCK_TRY(read_lines(text, path));
  // An option that is set stays set, so sections are read before the lines above them.
  std::ranges::stable_partition(lines, [](const Line& line) { return !line.section.empty(); });
  File file(settings, verb);
  for (const auto& line : lines) RLOCK_TRY(file.apply(line));
  return std::ranges::any_of(lines, [&](const Line& line) { return has_password(line, settings.options()); });
}

// what: the option that names it, if one does.
Result<void> read_file(Settings& settings, const VerbRow& verb, const std::string& path, std::string what = {}) {
  if (!what.empty()) what += ": ";
  auto file = base::NamedFile::open(path, base::may_hold_password(path) ? "the file" : path);
  if (!file) return fail(ErrorCode::configuration, what + file.error().message);
  // Its options decide which server keeps the lock, and with what rights a job runs.
  if (const auto why = file->change_by_others()) return fail(ErrorCode::configuration, what + *why);
  const auto text = file->read(max_file);
  if (!text) return fail(ErrorCode::configuration, what + text.error().message);
  const bool has_secret = RLOCK_TRY(apply(settings, verb, *text, path));
  if (const auto why = file->reading_by_others("password"); why && has_secret) settings.advise(*why);
  return {};
}

// A user who may not read the machine's file must not lock on another server without a word: it is an error, unless the
// server is named already. Then a message says so, since a prefix or a grace may stand in the file.
Result<void> read_machine_file(Settings& settings, const VerbRow& verb) {
  const std::string path = machine_file;
  if (::access(machine_file, R_OK) == 0 || errno != EACCES) return read_file(settings, verb, path);
  if (!settings.is_set(*find_option("server"))) {
    return fail(ErrorCode::configuration, path +
                                              " cannot be read: Permission denied; name the server with --server or "
                                              "RLOCK_SERVER, or ask for read access");
  }
  settings.advise(path +
                  " cannot be read: Permission denied; it is ignored, --config /dev/null does so without this note");
  return {};
}

}  // namespace

Result<void> read_configuration(Settings& settings, const VerbRow& verb, const std::string& text,
                                const std::string& path) {
  (void)RLOCK_TRY(apply(settings, verb, text, path));
  return {};
}

Result<void> read_configuration(Settings& settings, const VerbRow& verb) {
  if (const auto& named = settings.options().config_file; !named.empty()) {
    return read_file(settings, verb, named, settings.options().config_file_source);
  }
  // One that is not absolute does not count, as the XDG specification has it: each directory would be another server.
  const auto directory = [](const char* name) {
    const char* path = std::getenv(name);
    return path != nullptr && *path == '/' ? std::string(path) : std::string();
  };
  std::string own;
  if (const auto home = directory("XDG_CONFIG_HOME"); !home.empty()) {
    own = home + "/rlock.conf";
  } else if (const auto user = directory("HOME"); !user.empty()) {
    own = user + "/.config/rlock.conf";
  }
  // A link that leads nowhere, or where this user may not look, is there: passed over it would mean another server.
  const auto is_there = [](const std::string& path) {
    struct stat st{};
    return ::lstat(path.c_str(), &st) == 0;
  };
  // The user's file first: an option that it has set is not changed by the machine's file.
  if (!own.empty() && is_there(own)) RLOCK_TRY(read_file(settings, verb, own));
  if (is_there(machine_file)) RLOCK_TRY(read_machine_file(settings, verb));
  return {};
}

}  // namespace rlock::cli
