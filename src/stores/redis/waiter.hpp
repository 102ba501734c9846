#pragma once

#include <cstdint>
#include <optional>

#include "lock/backend.hpp"
#include "stores/redis/protocol.hpp"

namespace rlock::redis {

/// A waiter's place in the queue of one server, and when it has to look again: how it is woken, what it has seen of the
/// holder, and what it does where messages do not come or tell of nothing.
class Waiter {
 public:
  /// best_wake: how it is woken where the server allows it.
  Waiter(Protocol& protocol, Wake best_wake) : protocol_(protocol), best_wake_(best_wake), wake_(best_wake) {}

  /// Before each acquire, queueing or not: in which mode.
  void waits_in(lock::Mode mode) { mode_ = mode; }
  /// The earliest ticket ever seen counts: a late request of ours may have queued us again. 0: none.
  void queue_since(std::int64_t ticket);
  /// Asks for the lock, and for a place in the queue where it is busy. Not cut short by the end of the wait alone: a
  /// server that hangs is unreachable, not busy.
  base::Result<Answer> acquire(const lock::Request& request, base::Wait wait);
  /// What is seen now, with the time of the next look.
  lock::Busy saw(NotHeld not_held);
  bool is_queued() const { return ticket_ != 0; }
  lock::Event event_of(const Pushed& pushed);

 private:
  base::Result<Answer> subscribe_and_acquire(const lock::Request& request, base::Wait wait);
  bool is_to_doubt() const;
  base::Instant next_look() const;
  bool waits_for_foreign() const;
  base::Duration rank_share(base::Duration each) const;

  Protocol& protocol_;
  std::int64_t ticket_ = 0;  ///< the earliest that we ever had
  Wake best_wake_;
  Wake wake_;
  lock::Busy busy_;             ///< as last seen
  base::Instant looked_at_{};   ///< when
  base::Duration look_took_{};  ///< from the request to the answer
  base::Instant holder_end_{};  ///< of the lease of that holder
  bool was_told_ = false;       ///< a message asks for the next look
  int vain_looks_ = 0;          ///< in a row: a message asked for them, and they found nothing new
  lock::Mode mode_;             ///< that we wait for
  bool is_first_ = false;       ///< one of the first of the queue: to track the lock's key
  std::optional<bool> tracks_;  ///< whether the server does, once this connection has asked
  bool is_called_ = false;      ///< a message says that the lock was handed to us
  int hung_up_ = 0;             ///< subscriptions in a row during which the connection broke
};

}  // namespace rlock::redis
