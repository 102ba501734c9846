#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/wait/clock.hpp"
#include "lock/last_run.hpp"
#include "lock/who.hpp"

namespace rlock::lock {

/// One lock as status sees it.
struct Inspection {
  enum class State { free, held, foreign };
  struct Holder {
    std::optional<Record> record;            ///< nullopt: foreign, or none that can be read
    std::optional<base::Duration> ttl_left;  ///< nullopt: without end
  };
  struct Waiter {
    std::int64_t ticket = 0;
    std::optional<Record> record;
  };
  State state = State::free;
  bool is_other_data = false;   ///< foreign, and not a lock
  Mode mode;                    ///< of those who hold
  std::vector<Holder> holders;  ///< more than one only where the mode allows it; in the order of their fences
  std::int64_t now_us = 0;      ///< server time
  std::int64_t waiting = 0;
  std::vector<Waiter> waiters;  ///< the first ones, in the order of the queue
  std::optional<LastRun> last_run;
  /// Why the queue could not be read, though other locks could: it is too long. Such a queue has a holder in it, so the
  /// lock counts as held; `waiting` is an upper bound.
  std::optional<base::Error> unread;
  /// Where several servers keep the lock: how many say the same of its holder, and how many there are. A holder of less
  /// than a majority has not got the lock, or not any more.
  std::size_t votes = 0;
  std::size_t servers = 0;  ///< 0: one server alone keeps it

  /// How long ago that was, by the server's clock; zero for what lies ahead.
  base::Duration age(std::int64_t since_us) const {
    if (since_us >= now_us) return {};
    // Both come from other hosts and may be anything: unsigned, so that their difference cannot overflow.
    const auto us = static_cast<std::uint64_t>(now_us) - static_cast<std::uint64_t>(since_us);
    return base::Duration(static_cast<std::int64_t>(us / 1'000));
  }

  bool is_endless() const {
    return std::ranges::any_of(holders, [](const Holder& holder) { return !holder.ttl_left; });
  }
  bool is_held() const { return state != State::free && votes * 2 >= servers + (servers > 0 ? 1 : 0); }
};

/// What each of the servers that answered says of a lock, as one snapshot; of: how many servers there are.
Inspection merged(std::vector<Inspection> snapshots, std::size_t of);

/// Whether `missing` more snapshots can make a holder of a majority of one that has none yet: without them it would be
/// said that a held lock is not held.
bool may_gain_majority(std::span<const Inspection* const> snapshots, std::size_t missing, std::size_t of);

}  // namespace rlock::lock
