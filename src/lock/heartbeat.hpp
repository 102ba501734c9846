#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"

namespace rlock::lock {

/// A waiter shows that it lives, and finds what a lost message would have told it, this often, or up to a part of that
/// later. Who is far behind asks more seldom, as its turn is at least as far away as so many hand-overs take: of a long
/// queue the heartbeats cost the server the most. The scripts count it as heard for as much longer (common.lua,
/// FAR_US). rank: how many stand ahead; negative: not known.
constexpr base::Duration heartbeat_pause(std::int64_t rank) {
  constexpr base::Duration least{5'000};
  constexpr base::Duration most{100'000};
  constexpr base::Duration of_rank{20};
  return std::clamp(of_rank * std::clamp<std::int64_t>(rank, 0, most / of_rank + 1), least, most);
}

/// By how much it is spread, so that those who came together do not go on asking together.
constexpr base::Duration heartbeat_jitter(base::Duration pause) {
  return std::clamp(pause / 5, base::Duration(2'000), base::Duration(8'000));
}

}  // namespace rlock::lock
