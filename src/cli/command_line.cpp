#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "base/text/text.hpp"
#include "cli/nearest.hpp"

namespace rlock::cli {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

enum class Until { first_word, end };

bool is_of(const OptionRow& row, unsigned verbs) { return (row.verbs & verbs) == verbs; }

bool is_option(std::string_view argument) { return argument.size() > 1 && argument.front() == '-'; }

// Whether some argument names the option, as --name, --name=VALUE, -n or in a group of letters. An argument of COMMAND
// may match too, which does no harm.
bool is_named(const OptionRow& row, std::span<const std::string> arguments) {
  return std::ranges::any_of(arguments, [&](std::string_view argument) {
    if (!is_option(argument)) return false;
    if (argument[1] != '-') return row.letter != '\0' && argument.find(row.letter) != std::string_view::npos;
    argument.remove_prefix(2);
    return argument.substr(0, argument.find('=')) == row.name;
  });
}

// name: --NAME or -N.
const OptionRow* find_written(std::string_view name) {
  if (name.starts_with("--")) return find_option(name.substr(2));
  const auto table = option_table();
  const auto row =
      std::ranges::find_if(table, [&](const auto& each) { return name.size() == 2 && each.letter == name[1]; });
  return row == table.end() ? nullptr : &*row;
}

std::string see_help(std::string_view whose) { return "; see " + std::string(whose) + " --help"; }

// What `-ttl 5s` and `-t=5s` were meant to be, which CLI11 reads as `-t tl` and as `-t =5s`. row: the option whose
// value is bad; nullptr: any.
std::optional<std::string> misread(std::span<const std::string> arguments, const OptionRow* row, unsigned verbs) {
  for (const std::string_view argument : arguments) {
    if (!is_option(argument) || argument.starts_with("--") || argument.size() < 3) continue;
    const auto name = argument.substr(1, argument.find('=') - 1);
    if (row != nullptr && row->letter != '\0' && argument[1] == row->letter && argument[2] == '=' &&
        argument.size() > 3) {
      const auto value = argument.substr(3);
      return in_quotes(argument) + " has an extra =; write -" + row->letter + " " +
             (base::may_hold_password(value) ? std::string(row->value) : base::shell_word(value));
    }
    const auto* meant = name.size() > 1 ? find_option(name) : nullptr;
    if (meant != nullptr && is_of(*meant, verbs)) {
      return in_quotes(argument.substr(0, name.size() + 1)) + " is read as letters; write --" + std::string(name);
    }
  }
  return std::nullopt;
}

std::string unknown(const std::string& option, unsigned verbs, std::string_view whose) {
  if (option.starts_with("-="))
    return "'=...' follows an option that takes no value; leave it out";  // as -s=URL may, with a password in it
  // What stands behind a letter may be its value: -pPASSWORD.
  const auto name = option.starts_with("--") ? option.substr(0, option.find('=')) : option.substr(0, 2);
  const auto message = in_quotes(name) + " is not an option of " + std::string(whose);
  const auto bare = std::string_view(name).substr(std::min(name.find_first_not_of('-'), name.size()));
  const auto instead = [&](const OptionRow& row) {
    return message + "; did you mean --" + std::string(row.name) + "?";
  };
  const auto* elsewhere = find_written(name);
  // acquire --timeout: run has an option of that name, which is another thing.
  const bool may_be_another_word = elsewhere == nullptr || verbs != every_verb;
  for (const auto& row : option_table()) {
    if ((row.verbs & verbs) != 0 && may_be_another_word && has_word(row.also, bare)) {
      if (bare.size() > 1) return instead(row);
      return message + "; did you mean -" + row.letter + " (--" + std::string(row.name) + ")?";
    }
  }
  if (elsewhere != nullptr) {
    std::vector<std::string_view> others;
    for (const auto& verb : verb_table()) {
      if ((verb.bit & elsewhere->verbs) != 0) others.push_back(verb.name);
    }
    const auto of = "an option of " + listed(others, " and ");
    return verbs == every_verb ? in_quotes(name) + " comes before the verb; write it after the verb; it is " + of
                               : message + "; it is " + of;
  }
  if (is_shell_line(name) && (verbs & run) != 0) return message + std::string(instead_of_shell_line);
  std::vector<std::string_view> names{"help", "version"};
  const auto other_case = bare.size() == 1 ? static_cast<char>(bare[0] ^ 0x20) : '-';
  for (const auto& row : option_table()) {
    if ((row.verbs & verbs) == 0) continue;
    if (row.letter != '\0' && row.letter == other_case) return instead(row);
    names.push_back(row.name);
  }
  const auto near = name.starts_with("--") ? nearest(std::string_view(name).substr(2), names) : std::string_view();
  return message + (near.empty() ? see_help(whose) : "; did you mean --" + std::string(near) + "?");
}

// What to write for `--ttl`, or `--ttl=`, which lacks a value.
std::string needs_value(const OptionRow& row) {
  return "--" + std::string(row.name) + " needs a value; write --" + std::string(row.name) + " " +
         std::string(row.value) + (row.kind == Kind::duration ? ", as in --" + std::string(row.name) + " 30s" : "");
}

Result<Parsed> parse(Settings& settings, unsigned verbs, std::string_view whose, std::span<const std::string> arguments,
                     Until until) {
  CLI::App app;
  app.set_help_flag("");
  app.allow_extras();
  app.prefix_command(until == Until::first_word);
  const auto* brief = app.add_flag("-h");
  const auto* whole = app.add_flag("--help");
  auto* version = app.add_flag("-V,--version");
  std::vector<std::pair<const OptionRow*, CLI::Option*>> told;
  for (const auto& row : option_table()) {
    if (!is_of(row, verbs) || !is_named(row, arguments)) continue;
    const auto names = (row.letter != '\0' ? std::string{'-', row.letter, ','} : "") + "--" + std::string(row.name);
    told.emplace_back(&row, row.kind == Kind::flag ? app.add_flag(names) : app.add_option(names));
    told.back().second->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // the last one first
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view message = error.what();  // "--ttl: 1 required TEXT missing"
    const auto* row = find_written(message.substr(0, message.find(':')));
    return fail(ErrorCode::usage, row != nullptr ? needs_value(*row) : std::string(message));
  } catch (const CLI::ParseError& error) {
    const std::string_view message = error.what();
    return fail(ErrorCode::usage, std::string(message.substr(0, message.find('\n'))));
  }

  // Those among which an option may be meant.
  const auto own = until == Until::end ? arguments : arguments.first(arguments.size() - app.remaining_size());
  // CLI11 takes the next argument for the value.
  for (const std::string_view argument : own) {
    if (!argument.starts_with("--") || !argument.ends_with('=')) continue;
    const auto name = argument.substr(0, argument.size() - 1);
    const auto* row = find_written(name);
    if (row == nullptr) continue;
    if (row->kind == Kind::flag)
      return fail(ErrorCode::usage, in_quotes(argument) + " has an extra =; write " + std::string(name));
    return fail(ErrorCode::usage, needs_value(*row) + (row->may_be_empty ? ", or '' for an empty one" : ""));
  }
  Parsed parsed{.words = app.remaining(), .wants_version = version->count() > 0};
  if (whole->count() > 0) parsed.help = Help::whole;
  if (brief->count() > 0 && !parsed.help) parsed.help = Help::brief;
  auto& words = parsed.words;
  // CLI11 leaves options that it does not know among the words, up to a "--".
  auto mark = std::ranges::find_if(words, [](const auto& word) { return word == "--" || !is_option(word); });
  if (until == Until::end) mark = std::ranges::find(words, "--");
  const auto stranger = std::find_if(words.begin(), mark, is_option);
  if (stranger != mark) {
    const auto hint = misread(arguments.first(std::min(own.size() + 1, arguments.size())), nullptr, verbs);
    return fail(ErrorCode::usage, hint ? *hint : unknown(*stranger, verbs, whose));
  }
  if (mark != words.end() && *mark == "--") {
    words.erase(mark);
    parsed.has_mark = true;
  }

  for (const auto& [row, option] : told) {
    if (option->count() == 0) continue;
    const auto name = "--" + std::string(row->name);
    if (row->kind != Kind::flag && !row->repeatable && (option->count() > 1 || settings.is_set(*row))) {
      return fail(ErrorCode::usage, name + " is given twice");
    }
    if (const auto* rival = settings.rival(*row); rival != nullptr && !settings.is_set(*row)) {
      return fail(ErrorCode::usage,
                  name + " and --" + std::string(rival->name) + " exclude each other; leave one of them out");
    }
    const auto& values = option->results();
    for (const auto& value : std::span(values).last(row->repeatable ? values.size() : 1)) {
      if (auto set = settings.set(*row, value, Source::command_line); !set) {
        if (auto hint = misread(own, row, verbs)) return fail(ErrorCode::usage, *hint);
        return std::unexpected(std::move(set.error()));
      }
    }
  }
  return parsed;
}

}  // namespace

Result<Parsed> parse_up_to_word(Settings& settings, unsigned verbs, std::string_view whose,
                                std::span<const std::string> arguments) {
  if (arguments.empty() || !is_option(arguments.front())) return Parsed{{arguments.begin(), arguments.end()}};
  return parse(settings, verbs, whose, arguments, Until::first_word);
}

Result<Parsed> parse_all(Settings& settings, unsigned verbs, std::string_view whose,
                         std::span<const std::string> arguments) {
  return parse(settings, verbs, whose, arguments, Until::end);
}

Result<std::optional<Item>> parse_item(const std::string& line) {
  try {
    std::istringstream input{line};
    CLI::ConfigTOML format;
    format.comment('\n');
    auto items = format.from_config(input);
    if (items.size() != 1 || !items.front().parents.empty()) return std::nullopt;
    return Item{std::move(items.front().name), std::move(items.front().inputs)};
  } catch (const CLI::Error& error) {
    return fail(ErrorCode::configuration, error.what());
  }
}

std::string_view cli11_version() { return CLI11_VERSION; }

}  // namespace rlock::cli
