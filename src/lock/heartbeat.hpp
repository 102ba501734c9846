#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"

namespace rlock::lock {

/// The time between two heartbeats of a waiter, to which heartbeat_jitter() is added. A heartbeat shows that the waiter
/// lives, and finds what a lost message would have told it. A waiter that is far behind sends fewer, because its turn
/// cannot come soon, and because heartbeats are most of what a long queue costs the server. The scripts count it as
/// heard for longer in return (common.lua, FAR_US). rank: how many stand ahead; negative: not known.
constexpr base::Duration heartbeat_pause(std::int64_t rank) {
  constexpr base::Duration least{5'000};
  constexpr base::Duration most{100'000};
  constexpr base::Duration of_rank{20};
  return std::clamp(of_rank * std::clamp<std::int64_t>(rank, 0, most / of_rank + 1), least, most);
}

/// At most so much is added, at random, so that waiters that came together do not go on asking together.
constexpr base::Duration heartbeat_jitter(base::Duration pause) {
  return std::clamp(pause / 5, base::Duration(2'000), base::Duration(8'000));
}

}  // namespace rlock::lock
