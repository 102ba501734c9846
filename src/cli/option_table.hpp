#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "commands/options.hpp"

namespace rlock::cli {

/// Verbs and options as rows: the one source of their names, defaults, environment and help. Parsing, --help, the
/// configuration files, the man page and the completions read it. The rows are in rows/, a file a group. A new option
/// is one row; a new verb is a bit, a row, and its function in commands/verbs.hpp with a file of its own.

enum Verbs : unsigned {
  run = 1,
  acquire = 2,
  renew = 4,
  release = 8,
  status = 16,
  behind_the_last,
  every_verb = 2 * (behind_the_last - 1) - 1
};
constexpr unsigned acquirers = run | acquire;

/// What a verb takes besides options.
enum class Words { key, key_token, optional_key, key_command };

struct Example {
  std::string_view command;
  std::string_view what;
};

struct VerbRow {
  Verbs bit;
  std::string_view name;
  std::string_view words_text;  ///< as the synopsis has it
  Words words;
  std::string_view help;
  int (*handler)(const commands::Options&);
  std::string_view exits;           ///< statuses of base::exit_table that its users meet, with spaces between them
  std::array<Example, 6> examples;  ///< an empty command: none
  std::string_view also{};          ///< what other tools call it, with spaces between them: only to suggest the name
};

enum class Kind { flag, text, duration, number, choice, file };
enum class Sources { all, command_line };
enum class Group { lock, waiting, command, server, output };

/// nullopt when text is good; else what is wrong with it and what to write instead.
using Complaint = std::optional<std::string>;

/// text in quotation marks, for a complaint; '***' where it may hold a password, and cut where it is long.
std::string in_quotes(std::string_view text);

struct OptionRow {
  using Setter = Complaint (*)(commands::Options&, std::string_view);
  using Target = std::variant<std::monostate, bool commands::Options::*, int commands::Options::*,
                              std::string commands::Options::*, base::Duration commands::Options::*,
                              std::optional<base::Duration> commands::Options::*, Setter>;

  std::string_view name;  ///< long, without dashes
  char letter = '\0';
  Kind kind = Kind::flag;
  std::string_view value{};  ///< what stands for it in the help; the choices, with | between them
  unsigned verbs = every_verb;
  Group group = Group::output;
  Target target{};
  std::string_view help{};          ///< a line or two, without a full stop
  bool is_brief = false;            ///< -h has it too, with the help as far as the first ; or :
  std::string_view more{};          ///< further sentences, for the man page alone
  std::string_view default_text{};  ///< in place of it; none: help says what happens without the option
  std::string_view environment{};
  Sources sources = Sources::all;  ///< command_line: no file can set it
  std::string_view excludes{};     ///< mutual; names with spaces between them
  std::string_view needs{};        ///< for `acquire`: the option without which it would do nothing
  std::string_view also{};         ///< what other tools call it, with spaces between them: only to suggest the name
  bool may_be_empty = false;       ///< a variable without text sets it too
  bool repeatable = false;         ///< each value comes behind those before it
  long min = 0;                    ///< durations in ms, numbers
  long max = 0;                    ///< numbers
  std::string commands::Options::* source =
      nullptr;  ///< gets what its value is called in messages: --NAME, and where from
};

std::span<const VerbRow> verb_table();
std::span<const OptionRow> option_table();

/// nullptr: there is none.
const VerbRow* find_verb(std::string_view name);
const OptionRow* find_option(std::string_view long_name);

std::string_view group_title(Group group);

/// Whether word stands in a list with spaces between its words.
bool has_word(std::string_view list, std::string_view word);

/// Whether one of the two excludes the other.
bool excludes(const OptionRow& row, std::string_view other);

/// What a choice may be; empty for other kinds.
std::vector<std::string_view> choices(const OptionRow& row);

/// Whether text turns a flag off. False for what is not a flag.
bool is_off(const OptionRow& row, std::string_view text);

/// Reads text as the row's kind demands, and puts it where the row says.
Complaint set_value(const OptionRow& row, commands::Options& options, std::string_view text);

}  // namespace rlock::cli
