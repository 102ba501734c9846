#pragma once

#include <cstdint>
#include <string>

namespace rlock::base {

/// Microseconds since 1970 in the time zone of whoever reads: "14:05:12" where it is today, "Nov 21 14:05" within half
/// a year, else "2024-11-21". Of a time that cannot be one, the nearest that can.
std::string local_time_text(std::int64_t us);

}  // namespace rlock::base
