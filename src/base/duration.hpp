#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace rlock::base {

/// Reads `500ms`, `30s`, `5m`, `2h`, `1d`, `1h30m`; a bare number is seconds, and may have a fraction
/// of up to three digits (`0.5`, `1.5s`). Units must fall (`1h30m`, not `30m1h`). nullopt for anything
/// else, negatives and whatever passes ten years.
std::optional<Duration> parse_duration(std::string_view text);

/// The shortest text that parse_duration reads back as the same duration.
std::string format_duration(Duration duration);

/// For people, not to be read back: the largest unit and the one below it, "2m 14s", "3h", "1d 5h"; below a second
/// "0s".
std::string age_text(Duration duration);

}  // namespace rlock::base
