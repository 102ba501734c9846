#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lock/who.hpp"
#include "redis/session.hpp"

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

/// Looks at the locks of these wire keys (prefix and KEY), in this order; writes nothing. Many locks travel in one
/// flight, so that a hundred thousand cost some hundred round trips. At most max_waiters of each queue are listed.
base::Result<std::vector<Inspection>> inspect(redis::Session& session, std::span<const std::string> wire_keys,
                                              std::int64_t max_waiters, base::Poller& poller);

/// Every lock on the server whose name begins with prefix: the names without it, sorted. A lock of another library is
/// told from other data by the prefix. Under an empty prefix every string counts as one, so that no held lock is
/// missed: the caller drops those that inspect() finds to be foreign and without an end.
base::Result<std::vector<std::string>> list_locks(redis::Session& session, const std::string& prefix,
                                                  base::Poller& poller);

}  // namespace rlock::lock
