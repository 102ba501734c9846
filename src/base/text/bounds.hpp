#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/number.hpp"
#include "base/wait/clock.hpp"

namespace rlock::base {

/// Every number that a server has sent is read here (R36 of tests/PROOFS.md): other programs may write where rlock
/// does, and what answers need not be a server. What these return can be added to an instant, multiplied by a thousand,
/// subtracted from its like, and printed.

/// A hundred years: stands for all that is longer. A clock of nanoseconds has room for two of it.
inline constexpr Duration max_span = std::chrono::days(36'525);

/// A time in milliseconds; a negative one is none.
constexpr Duration span_of(std::int64_t ms) { return std::clamp(Duration(ms), Duration::zero(), max_span); }

/// What PTTL has answered; nullopt: no key, or one that never expires.
constexpr std::optional<Duration> ttl_of(std::int64_t pttl) {
  return pttl < 0 ? std::nullopt : std::optional(span_of(pttl));
}

/// How many there are, or which one it is; -1: none.
constexpr std::int64_t count_of(std::int64_t number) { return std::clamp<std::int64_t>(number, -1, 1'000'000'000); }

/// The largest number that the scripts of a server can count to, and the latest time: the year 2255.
inline constexpr std::int64_t max_counted = (std::int64_t{1} << 53) - 1;

/// An instant of a server's clock in microseconds since 1970, as a ticket is one; 0: none.
constexpr std::int64_t time_us_of(std::int64_t us) { return std::clamp<std::int64_t>(us, 0, max_counted); }
/// The instant that the two numbers of TIME tell.
constexpr std::int64_t time_us_of(std::int64_t seconds, std::int64_t us) {
  return time_us_of(std::clamp<std::int64_t>(seconds, 0, max_counted / 1'000'000) * 1'000'000 +
                    std::clamp<std::int64_t>(us, 0, 999'999));
}

/// nullopt: no script gives out such a one. 0: not known.
constexpr std::optional<std::uint64_t> fence_of(std::int64_t number) {
  return number < 0 || number > max_counted ? std::nullopt : std::optional(static_cast<std::uint64_t>(number));
}

/// The number that a text is, for one of the above; 0 where it is none.
inline std::int64_t number_in(std::string_view text) { return parse_number<std::int64_t>(text).value_or(0); }

}  // namespace rlock::base
