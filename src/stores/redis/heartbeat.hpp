#pragma once

#include <algorithm>
#include <cstdint>

#include "base/wait/clock.hpp"
#include "stores/redis/scripts/constants.hpp"

namespace rlock::redis {

/// The time between two heartbeats of a waiter, to which heartbeat_jitter() is added. A heartbeat shows that the waiter
/// lives, and finds what a lost message would have told it. The first waiters (constants::watchers) watch the lock's
/// key. Those close behind them ask often: if all ahead are frozen, nobody else finds that a claim has lapsed. A
/// waiter that is far behind asks seldom, because its turn cannot come soon, and because heartbeats are most of what a
/// long queue costs the server. The scripts count it as heard for longer in return (constants::far). rank: how many
/// stand ahead; negative: not known.
constexpr base::Duration heartbeat_pause(std::int64_t rank) {
  constexpr base::Duration usual{5'000};
  constexpr base::Duration least{1'000};
  constexpr base::Duration of_near_rank{100};
  constexpr auto most = std::chrono::duration_cast<base::Duration>(constants::max_far);
  constexpr auto of_rank = std::chrono::duration_cast<base::Duration>(constants::far);
  if (rank < constants::watchers) return usual;
  const auto near = least + of_near_rank * std::min<std::int64_t>(rank - constants::watchers, usual / of_near_rank);
  return std::clamp(of_rank * std::min<std::int64_t>(rank, most / of_rank), std::min(near, usual), most);
}

/// At most so much is added, at random, so that waiters that came together do not go on asking together.
constexpr base::Duration heartbeat_jitter(base::Duration pause) {
  return std::clamp(pause / 5, std::min(pause * 2 / 5, base::Duration(2'000)), base::Duration(8'000));
}

/// The latest that a waiter that is not far behind asks again.
inline constexpr base::Duration usual_heartbeat = heartbeat_pause(0) + heartbeat_jitter(heartbeat_pause(0));
static_assert(usual_heartbeat < constants::unheard && usual_heartbeat < constants::clock_step &&
              constants::clock_step < constants::silent);

}  // namespace rlock::redis
