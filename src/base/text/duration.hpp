#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "base/wait/clock.hpp"

namespace rlock::base {

/// Ten years.
inline constexpr Duration max_duration = std::chrono::days(3650);

enum class BadDuration { malformed, too_long };

/// Reads `500ms`, `30s`, `5m`, `2h`, `1d`, `1h30m`; a bare number is seconds, and may have a fraction
/// of up to three digits (`0.5`, `1.5s`). Units must fall (`1h30m`, not `30m1h`). Anything else is malformed, negatives
/// too.
std::expected<Duration, BadDuration> parse_duration(std::string_view text);

/// The shortest text that parse_duration reads back as the same duration.
std::string format_duration(Duration duration);

/// For people, not to be read back: the largest unit and the one below it, "2m 14s", "3h", "1d 5h"; below a second
/// "0s".
std::string age_text(std::chrono::seconds age);
/// Any age that fits into its own unit: a record that makes no sense may be older than nanoseconds can count.
template <class Count, class Unit>
std::string age_text(std::chrono::duration<Count, Unit> age) {
  return age_text(std::chrono::floor<std::chrono::seconds>(age));
}

}  // namespace rlock::base
