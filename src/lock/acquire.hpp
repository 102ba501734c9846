#pragma once

#include <optional>
#include <string>

#include "lock/client.hpp"
#include "lock/lease.hpp"
#include "redis/retry.hpp"

namespace rlock::lock {

/// One attempt to get a lock, from the first enter to the lease or to having left the queue. The first
/// enter does not queue: most jobs are served by that one round trip.
class Acquisition {
 public:
  Acquisition(Client& client, std::string token, LeaseTerms terms, Who who, base::Poller& poller)
      : client_(client), token_(std::move(token)), terms_(terms), who_(std::move(who)), poller_(poller) {}

  /// nullopt: busy until `wait` had passed (zero: at once; nullopt: never). A server that does not serve is asked
  /// again until then; without `wait`, for the session's timeout, and longer where it served us before. Fails with
  /// its error where it stays so, and with interrupted when a signal came. Whatever it returns but a lease, the queue
  /// is left, and a lease that the server may have granted unheard is given back, as far as the server can be reached.
  base::Result<std::optional<Lease>> acquire(std::optional<base::Duration> wait);

  /// The holder that was met last, for messages.
  const std::optional<NotHeld>& met() const { return met_; }

 private:
  base::Result<std::optional<Lease>> attempt(std::optional<base::Duration> wait);
  base::Result<std::optional<Lease>> queue_up(base::Instant give_up);
  base::Result<std::optional<Lease>> step(Entered entered);
  base::Result<void> outlast(const base::Error& error, base::Instant asked, base::Instant give_up);
  base::Result<void> pause(base::Instant end);
  base::Result<Entered> ask(base::Instant give_up);
  base::Result<bool> wait_for_turn(base::Instant give_up);
  base::Instant next_look() const;
  base::Duration rank_share(base::Duration each) const;
  void tell_of(const NotHeld& lock) const;
  base::Result<void> abandon(base::Instant until);

  Client& client_;
  std::string token_;
  LeaseTerms terms_;
  Who who_;
  base::Poller& poller_;
  std::optional<NotHeld> met_;
  std::int64_t ticket_ = 0;
  Wake wake_ = Wake::push;
  base::Instant heard_{};                      ///< when the server last answered
  std::optional<base::Instant> broken_since_;  ///< the first try that failed since then
  redis::Backoff backoff_{base::Duration(100), base::Duration(500)};
  int hung_up_ = 0;             ///< subscriptions in a row during which the connection broke
  bool is_first_ = false;       ///< one of the first of the queue: to track the lock's key
  std::optional<bool> tracks_;  ///< whether the server does, once this connection has asked
  bool entangled_ = false;      ///< the server may know the token: held, queued, or asked and unanswered
  int too_late_ = 0;            ///< grants that were over when they arrived
};

}  // namespace rlock::lock
