#include "cli/settings.hpp"

#include <cstdlib>

namespace rlock::cli {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

unsigned long bit(const OptionRow& row) { return 1UL << static_cast<unsigned>(&row - option_table().data()); }

}  // namespace

Result<void> Settings::set(const OptionRow& row, std::string_view text, std::string_view source, ErrorCode code) {
  set_ |= bit(row);
  if (is_off(row, text)) off_ |= bit(row);
  if (row.name == "server") {
    options_.servers_source = source;
    options_.server_is_from_file = code == ErrorCode::configuration;
  }
  const auto complaint = set_value(row, options_, text);
  if (!complaint) return {};
  return fail(code, "--" + std::string(row.name) + ": " + *complaint +
                        (source.empty() ? "" : "; it comes from " + std::string(source)));
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

Result<void> Settings::read_environment(const VerbRow& verb) {
  for (const auto& row : option_table()) {
    if (row.environment.empty() || (row.verbs & verb.bit) == 0 || is_settled(row)) continue;
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the table holds literals
    const char* text = std::getenv(row.environment.data());
    if (text == nullptr || (*text == '\0' && row.name != "prefix")) continue;
    const auto source = std::string(row.environment) + " in the environment";
    RLOCK_TRY(set(row, text, source, ErrorCode::usage));
  }
  return {};
}

void Settings::set_defaults() {
  for (const auto& row : option_table()) {
    if (!row.default_text.empty() && !is_set(row)) (void)set_value(row, options_, row.default_text);
  }
}

}  // namespace rlock::cli
