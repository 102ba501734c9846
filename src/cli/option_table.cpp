#include "cli/option_table.hpp"

#include <algorithm>
#include <numeric>

#include "cli/rows/command.hpp"
#include "cli/rows/lock.hpp"
#include "cli/rows/output.hpp"
#include "cli/rows/server.hpp"
#include "cli/rows/verbs.hpp"
#include "cli/rows/waiting.hpp"

namespace rlock::cli {

namespace {

template <class Row, std::size_t... sizes>
constexpr auto joined(const Row (&... rooms)[sizes]) {
  std::array<Row, (sizes + ...)> all;
  auto end = all.begin();
  ((end = std::ranges::copy(rooms, end).out), ...);
  return all;
}

// In the order of --help.
constexpr auto options = joined(rows::lock, rows::waiting, rows::command, rows::server, rows::output);

static_assert(std::accumulate(std::begin(rows::verbs), std::end(rows::verbs), 0U,
                              [](unsigned bits, const VerbRow& row) { return bits | row.bit; }) == every_verb);

}  // namespace

std::span<const VerbRow> verb_table() { return rows::verbs; }
std::span<const OptionRow> option_table() { return options; }

const VerbRow* find_verb(std::string_view name) {
  const auto* row = std::ranges::find(rows::verbs, name, &VerbRow::name);
  return row == std::end(rows::verbs) ? nullptr : row;
}

const OptionRow* find_option(std::string_view long_name) {
  const auto* row = std::ranges::find(options, long_name, &OptionRow::name);
  return row == options.end() ? nullptr : row;
}

bool has_word(std::string_view list, std::string_view word) {
  return !word.empty() && (" " + std::string(list) + " ").contains(" " + std::string(word) + " ");
}

bool excludes(const OptionRow& row, std::string_view other) { return has_word(row.excludes, other); }

std::string_view group_title(Group group) {
  switch (group) {
    case Group::lock:
      return "The lock";
    case Group::waiting:
      return "Waiting";
    case Group::command:
      return "The command";
    case Group::server:
      return "The server";
    case Group::output:
      break;
  }
  return "Output";
}

}  // namespace rlock::cli
