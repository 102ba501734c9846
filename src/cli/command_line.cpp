#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

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

std::unexpected<base::Error> unknown(const std::string& option, unsigned verbs, std::string_view whose) {
  const auto name = option.substr(0, option.find('='));
  std::string message = "'" + name + "' is not an option of " + std::string(whose);
  const auto* elsewhere = find_written(name);
  if (elsewhere != nullptr) {
    std::string others;
    for (const auto& verb : verb_table()) {
      if ((verb.bit & elsewhere->verbs) != 0) others += (others.empty() ? "" : ", ") + std::string(verb.name);
    }
    return fail(ErrorCode::usage, message + "; it is an option of " + others);
  }
  std::vector<std::string_view> names;
  for (const auto& row : option_table()) {
    if (is_of(row, verbs)) names.push_back(row.name);
  }
  const auto near = name.starts_with("--") ? nearest(std::string_view(name).substr(2), names) : std::string_view();
  if (!near.empty()) message += "; did you mean --" + std::string(near) + "?";
  return fail(ErrorCode::usage, message);
}

Result<Parsed> parse(Settings& settings, unsigned verbs, std::string_view whose, std::span<const std::string> arguments,
                     Until until, std::size_t max_words) {
  CLI::App app;
  app.set_help_flag("");
  app.allow_extras();
  app.prefix_command(until == Until::first_word);
  auto* help = app.add_flag("-h,--help");
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
    const std::string_view message = error.what();
    return fail(ErrorCode::usage, std::string(message.substr(0, message.find(':'))) + " needs a value");
  } catch (const CLI::ParseError& error) {
    const std::string_view message = error.what();
    return fail(ErrorCode::usage, std::string(message.substr(0, message.find('\n'))));
  }

  // CLI11 takes the next argument for the value.
  for (const auto& argument : arguments.first(arguments.size() - app.remaining_size())) {
    if (argument.starts_with("--") && argument.ends_with('=')) {
      const auto name = argument.substr(0, argument.size() - 1);
      return fail(ErrorCode::usage, name + "= has no value; for an empty one write " + name + " ''");
    }
  }
  Parsed parsed{app.remaining(), help->count() > 0, version->count() > 0};
  auto& words = parsed.words;
  // CLI11 leaves options that it does not know among the words, up to a "--".
  auto mark = std::ranges::find_if(words, [](const auto& word) { return word == "--" || !is_option(word); });
  if (until == Until::end) mark = std::ranges::find(words, "--");
  const auto stranger = std::find_if(words.begin(), mark, is_option);
  if (stranger != mark) return unknown(*stranger, verbs, whose);
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
      RLOCK_TRY(settings.set(*row, value, "", ErrorCode::usage));
    }
  }
  if (until == Until::end && words.size() > max_words && !parsed.wants_help) {
    return fail(ErrorCode::usage, "'" + words[max_words] + "' is an argument too many");
  }
  return parsed;
}

}  // namespace

Result<Parsed> parse_up_to_word(Settings& settings, unsigned verbs, std::string_view whose,
                                std::span<const std::string> arguments) {
  if (arguments.empty() || !is_option(arguments.front())) return Parsed{{arguments.begin(), arguments.end()}};
  return parse(settings, verbs, whose, arguments, Until::first_word, 0);
}

Result<Parsed> parse_all(Settings& settings, unsigned verbs, std::string_view whose,
                         std::span<const std::string> arguments, std::size_t max_words) {
  return parse(settings, verbs, whose, arguments, Until::end, max_words);
}

std::string_view nearest(std::string_view mistyped, std::span<const std::string_view> names) {
  // Levenshtein's distance, a row of the matrix at a time.
  const auto distance = [&](std::string_view name) {
    std::vector<std::size_t> row(name.size() + 1);
    std::iota(row.begin(), row.end(), 0U);
    for (std::size_t i = 0; i < mistyped.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i + 1;
      for (std::size_t j = 0; j < name.size(); ++j) {
        const auto replaced = diagonal + (mistyped[i] == name[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
      }
    }
    return row.back();
  };
  const auto found = std::ranges::min_element(names, {}, distance);
  if (found == names.end()) return {};
  return distance(*found) <= std::max<std::size_t>(1, found->size() / 3) ? *found : std::string_view();
}

}  // namespace rlock::cli
