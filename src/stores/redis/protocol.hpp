#pragma once

#include <memory>

#include "lock/backend.hpp"
#include "stores/redis/client/session.hpp"
#include "stores/redis/inbox.hpp"
#include "stores/redis/safeguards.hpp"
#include "stores/redis/scripts/script_runner.hpp"

namespace rlock::redis {

/// Answer to acquire: another holder has the lock. ticket: server microseconds; 0 when we are not in the queue.
struct NotHeld {
  std::int64_t ticket = 0;
  lock::Busy busy;
};

/// Answer to acquire: this token was released before.
struct Tombstoned {};

/// Answer to acquire: others use the lock in this mode, which the request's cannot wait for.
struct OtherMode {
  lock::Mode mode;
};

using Answer = std::variant<lock::Grant, NotHeld, lock::AlreadySucceeded, Tombstoned, OtherMode>;

/// What a release leaves behind.
enum class Tombstone { yes, no };

/// How a waiter is woken.
enum class Wake {
  push,   ///< by messages on its channel
  shard,  ///< the same where channels belong to slots: to no more nodes of a Cluster than need them (Redis 7.0)
  poll
};

/// The scripts of src/stores/redis/scripts over one session: each method is one script, one round trip (two while the
/// server has not cached the script).
class Protocol {
 public:
  Protocol(Session session, const Scripts& scripts, Safeguards safeguards = {})
      : runner_(std::move(session), scripts), safeguards_(safeguards) {}

  /// ticket: nullopt does not queue; 0 queues behind all; else queues where it stood before.
  base::Result<Answer> acquire(const lock::Request& request, std::optional<std::int64_t> ticket, Wake wake,
                               base::Wait wait);
  /// acquire behind a subscription to the token's wake-ups, in one flight. Falls back from Wake::shard to
  /// Wake::push, and from that to Wake::poll, where the server does not know or denies it; `wake` then says so.
  base::Result<Answer> acquire_subscribed(const lock::Request& request, std::int64_t ticket, Wake& wake,
                                          base::Wait wait);

  /// Whether this connection has subscribed. A waiter that claims so and has not is taken for dead when its turn comes.
  bool is_subscribed() const { return subscribed_on_ != 0 && subscribed_on_ == session().connection(); }

  base::Result<lock::Ownership> renew(const lock::Request& request, base::Wait wait);
  /// renew behind a switch to RESP3 and client tracking (see track), in one flight: two would not fit into a try where
  /// answers are slow. Whether the server agreed to track does not matter: without it the next renewal finds out.
  base::Result<lock::Ownership> watch_and_renew(const lock::Request& request, base::Wait wait);
  /// Acquires the lock again that the server forgot when it restarted since `last`, a renewal that found us; or, where
  /// it is another server by now, that it was never told of.
  enum class Server { same, other };
  base::Result<lock::Ownership> reclaim(const lock::Request& request, const lock::Ownership& last, Server server,
                                        base::Wait wait);
  /// How many replicas have what this connection has written up to now. Waits for as many as the safeguards want, at
  /// most a third of the request's ttl: longer would use up the lease.
  base::Result<std::int64_t> replicated(const lock::Request& request, base::Wait wait);
  base::Result<lock::Ownership> check(const lock::Request& request, base::Wait wait);
  base::Result<lock::Released> release(const lock::Request& request, const lock::ReleaseOptions& options,
                                       Tombstone tombstone, base::Wait wait);
  base::Result<bool> raise_fence(const lock::Request& request, std::uint64_t fence, base::Wait wait);

  /// Turns client tracking on: the server pushes a message when another client writes a key that this connection has
  /// read. Returns whether the server agreed. For a connection that has subscribed, and so speaks RESP3.
  base::Result<bool> track(base::Wait wait);
  /// Turns it off again. Whether the server agreed does not matter.
  base::Result<void> untrack(base::Wait wait);
  /// From here on what is pushed about this lock to this token is heard.
  void attend(const lock::Request& request);
  /// What was pushed since the last call; nothing before attend().
  base::Result<Pushed> pushed();

  /// Whether the last script was served by a Cluster that is moving the keys of the lock.
  bool is_moving() const { return runner_.is_moving(); }

  const Safeguards& safeguards() const { return safeguards_; }
  ScriptRunner& runner() { return runner_; }
  Session& session() { return runner_.session(); }
  const Session& session() const { return runner_.session(); }

 private:
  const Names& names_of(const lock::Request& request);
  ScriptCall acquisition(const lock::Request& request, std::optional<std::int64_t> ticket, Wake wake);
  const Scripts& scripts() const { return runner_.scripts(); }
  base::Result<Answer> read_answer(const Reply& reply) const;
  base::Result<lock::Ownership> read_renewed(const Reply& reply) const;
  base::Result<lock::Ownership> read_not_ours(const Reply& reply) const;
  base::Result<lock::Released> read_released(const Reply& reply) const;

  ScriptRunner runner_;
  Safeguards safeguards_;
  std::optional<Names> names_;       ///< of the last request: making them costs some allocations
  std::unique_ptr<Inbox> inbox_;     ///< nullptr: nobody has attended. Its place stays, for the session to write to
  std::uint64_t subscribed_on_ = 0;  ///< the connection that has; 0: none
};

}  // namespace rlock::redis
