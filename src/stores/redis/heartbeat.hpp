#pragma once

#include <algorithm>
#include <cstdint>

#include "base/wait/clock.hpp"
#include "stores/redis/scripts/constants.hpp"

namespace rlock::redis {

/// The figures of heartbeat_pause() and heartbeat_jitter(), which the fault trials read from here.
inline constexpr base::Duration usual_pause{5'000};
inline constexpr base::Duration near_pause{1'000};
inline constexpr base::Duration near_step{100};
inline constexpr base::Duration usual_jitter{2'000};
inline constexpr base::Duration max_jitter{8'000};

/// The time between two heartbeats of a waiter, to which heartbeat_jitter() is added. A heartbeat shows that the waiter
/// lives, and finds what a lost message would have told it. The first waiters (constants::watchers) watch the lock's
/// key. Those close behind them ask often: if all ahead are frozen, nobody else finds that a claim has lapsed. A
/// waiter that is far behind asks seldom, because its turn cannot come soon, and because heartbeats are most of what a
/// long queue costs the server. The scripts count it as heard for longer in return (constants::far). rank: how many
/// stand ahead; negative: not known.
constexpr base::Duration heartbeat_pause(std::int64_t rank) {
  constexpr auto max_pause = std::chrono::duration_cast<base::Duration>(constants::max_far);
  constexpr auto far_step = std::chrono::duration_cast<base::Duration>(constants::far);
  if (rank < constants::watchers) return usual_pause;
  const auto near =
      near_pause + near_step * std::min<std::int64_t>(rank - constants::watchers, usual_pause / near_step);
  return std::clamp(far_step * std::min<std::int64_t>(rank, max_pause / far_step), std::min(near, usual_pause),
                    max_pause);
}

/// At most so much is added, at random, so that waiters that came together do not go on asking together.
constexpr base::Duration heartbeat_jitter(base::Duration pause) {
  return std::clamp(pause / 5, std::min(pause * 2 / 5, usual_jitter), max_jitter);
}

/// The latest that a waiter that is not far behind asks again.
inline constexpr base::Duration usual_heartbeat = heartbeat_pause(0) + heartbeat_jitter(heartbeat_pause(0));
static_assert(usual_heartbeat < constants::unheard && usual_heartbeat < constants::clock_step &&
              constants::clock_step < constants::silent);

}  // namespace rlock::redis
