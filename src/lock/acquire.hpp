#pragma once

#include <optional>

#include "base/wait/retry.hpp"
#include "lock/backend.hpp"
#include "lock/lease.hpp"
#include "lock/observer.hpp"
#include "lock/patience.hpp"

namespace rlock::lock {

/// After an error or a signal, a release that nobody asked for must not delay the exit for longer.
inline constexpr base::Duration unasked_release_limit{500};

/// One attempt to acquire a lock, from the first request until it has the lease or has left the queue. The first
/// request does not queue, because it is enough for most jobs.
class Acquisition {
 public:
  /// observer: may be nullptr.
  Acquisition(Backend& backend, Request request, LeaseTerms terms, base::Poller& poller, Observer* observer = nullptr)
      : backend_(backend), request_(std::move(request)), terms_(terms), poller_(poller), observer_(observer) {}

  /// Returns nullopt if the lock was busy until patience.give_up, or if there is nothing to do. A server that cannot
  /// serve is asked again until then; without that end, for the backend's timeout, or longer if it has served this
  /// acquisition before. Fails with the last error of that server, or with interrupted. Unless it returns a lease, it
  /// releases: the queue entry, and a lease whose grant may have been lost on the way, if the server can be reached in
  /// time. Is over by patience.end, whatever the server does.
  base::Result<std::optional<Lease>> acquire(Patience patience);
  /// Whether that release had no answer: the server may hold something of this token until it ends by itself.
  bool is_left() const { return is_left_; }

  /// Why there is no lease where there is nothing to do (Request::once).
  const std::optional<AlreadySucceeded>& done() const { return done_; }
  /// The holder that was met last, for messages.
  const std::optional<Busy>& met() const { return met_; }

 private:
  base::Result<std::optional<Lease>> attempt();
  base::Result<std::optional<Lease>> queue_up();
  base::Result<std::optional<Lease>> step(Acquired acquired);
  base::Result<void> pause_or_fail(const base::Error& error, base::Instant asked);
  base::Result<void> pause(base::Instant end);
  base::Result<bool> wait_for_turn();
  base::Result<void> release_if_held(base::Instant until);

  Backend& backend_;
  Request request_;
  LeaseTerms terms_;
  base::Poller& poller_;
  Observer* observer_;
  Patience patience_;
  bool is_left_ = false;
  std::optional<Busy> met_;
  std::optional<AlreadySucceeded> done_;
  base::Instant heard_{};                      ///< when a server last answered
  std::optional<base::Instant> broken_since_;  ///< the first try that failed since then
  base::Backoff backoff_{base::Duration(100), base::Duration(500)};
  int too_late_ = 0;  ///< grants that were over when they arrived
};

}  // namespace rlock::lock
