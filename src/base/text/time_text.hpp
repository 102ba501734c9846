#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rlock::base {

/// Microseconds since 1970 as RFC 3339 has them: "2026-11-22T02:40:11Z"; nullopt outside of the years 1970 to 9999.
std::optional<std::string> rfc3339(std::int64_t us);

/// The time now likewise, to the millisecond: "2026-11-22T02:40:11.034Z".
std::string rfc3339_now();

/// Microseconds since 1970 in the time zone of whoever reads: "14:05:12" if that is today, "Nov 21 14:05" within half a
/// year, else "2024-11-21". For a time outside of the years 1970 to 9999, the nearest time within them.
std::string local_time_text(std::int64_t us);

}  // namespace rlock::base
