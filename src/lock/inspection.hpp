#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "lock/who.hpp"

namespace rlock::lock {

/// One lock as status sees it.
struct Inspection {
  enum class State { free, held, foreign };
  struct Waiter {
    std::int64_t ticket = 0;
    std::optional<Record> record;
  };
  State state = State::free;
  std::optional<Record> holder;
  std::optional<base::Duration> ttl_left;  ///< nullopt: free, or without end
  std::int64_t now_us = 0;                 ///< server time
  std::int64_t waiting = 0;
  std::vector<Waiter> waiters;  ///< the first ones, in the order of the queue
};

}  // namespace rlock::lock
