#include "cli/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "base/log.hpp"
#include "cli/nearest.hpp"

namespace rlock::cli {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

unsigned long bit(const OptionRow& row) { return 1UL << static_cast<unsigned>(&row - option_table().data()); }

}  // namespace

Result<void> Settings::set(const OptionRow& row, std::string_view text, Source source, std::string_view place) {
  set_ |= bit(row);
  if (is_off(row, text)) off_ |= bit(row);
  auto name = std::string(row.name);
  if (source == Source::command_line) name = "--" + name;
  if (source == Source::environment) name = std::string(place) + " in the environment (--" + name + ")";
  if (source == Source::file) name = std::string(place) + ": " + name;
  if (row.source != nullptr) options_.*row.source = name;
  if (row.name == "server") options_.server_is_from_file = source == Source::file;
  const auto complaint = set_value(row, options_, text);
  if (!complaint) return {};
  return fail(source == Source::file ? ErrorCode::configuration : ErrorCode::usage, name + ": " + *complaint);
}

bool Settings::is_set(const OptionRow& row) const { return (set_ & bit(row)) != 0; }

bool Settings::is_settled(const OptionRow& row) const { return is_set(row) || rival(row) != nullptr; }

const OptionRow* Settings::rival(const OptionRow& row) const {
  if (row.excludes.empty()) return nullptr;
  for (const auto& other : option_table()) {
    if (is_set(other) && (off_ & bit(other)) == 0 && excludes(row, other.name)) return &other;
  }
  return nullptr;
}

Result<void> Settings::check_needs(const VerbRow& verb) const {
  for (const auto& row : option_table()) {
    const auto* needed = row.needs.empty() || !is_set(row) ? nullptr : find_option(row.needs);
    if (needed == nullptr || (needed->verbs & verb.bit) == 0 || is_set(*needed)) continue;
    return fail(ErrorCode::usage, "--" + std::string(row.name) + " does nothing without --" +
                                      std::string(needed->name) + "; give both, or leave it out");
  }
  return {};
}

Result<void> Settings::read_environment(const VerbRow& verb) {
  for (const auto& row : option_table()) {
    if (row.environment.empty() || (row.verbs & verb.bit) == 0 || is_settled(row)) continue;
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the table holds literals
    const char* text = std::getenv(row.environment.data());
    if (text == nullptr || (*text == '\0' && !row.may_be_empty)) continue;
    RLOCK_TRY(set(row, text, Source::environment, row.environment));
  }
  return {};
}

void note_strange_variables() {
  constexpr std::string_view own = "RLOCK_";
  constexpr std::array<std::string_view, 7> set_by_us{"RLOCK_KEY",    "RLOCK_TOKEN",  "RLOCK_FENCE", "RLOCK_KEYS",
                                                      "RLOCK_TOKENS", "RLOCK_FENCES", "RLOCK_NESTED"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with(own)) continue;
    const auto name = text.substr(0, text.find('='));
    auto option = std::string(name.substr(own.size()));
    std::ranges::transform(option, option.begin(), [](char c) { return c == '_' ? '-' : static_cast<char>(c | 0x20); });
    const auto* row = find_option(option);
    if (std::ranges::find(set_by_us, name) != set_by_us.end() || (row != nullptr && !row->environment.empty()))
      continue;
    const auto what = std::string(name) + " in the environment sets nothing; ";
    if (row != nullptr) {
      base::log_note(what + "write --" + option);
      continue;
    }
    std::vector<std::string_view> all(set_by_us.begin(), set_by_us.end());
    for (const auto& each : option_table()) {
      if (!each.environment.empty()) all.push_back(each.environment);
    }
    // Most of each name is the same, which is not to count.
    for (auto& each : all) each.remove_prefix(own.size());
    const auto near = nearest(name.substr(own.size()), all);
    if (!near.empty()) base::log_note(what + "did you mean " + std::string(own) + std::string(near) + "?");
  }
}

void Settings::set_defaults() {
  for (const auto& row : option_table()) {
    if (!row.default_text.empty() && !is_set(row)) (void)set_value(row, options_, row.default_text);
  }
}

}  // namespace rlock::cli
