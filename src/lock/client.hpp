#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lock/names.hpp"
#include "lock/scripts.hpp"
#include "lock/who.hpp"
#include "redis/session.hpp"

namespace rlock::lock {

/// enter: the lock is ours.
struct Held {
  std::uint64_t fence = 0;
  base::Instant sent_at{};  ///< before the request: the lease counts from here
};

/// enter: somebody else's.
struct NotHeld {
  std::int64_t ticket = 0;                   ///< server microseconds; 0 when not queued
  std::int64_t rank = -1;                    ///< from 0; -1 when not queued
  std::optional<base::Duration> holder_ttl;  ///< nullopt: the holder's lease has no end
  bool holder_is_foreign = false;            ///< it will wake nobody when it releases
  std::optional<Record> holder;
};

/// enter: this token has left before, and never comes back.
struct Spent {};

using Entered = std::variant<Held, NotHeld, Spent>;

enum class RenewOutcome { renewed, not_owner, absent };
enum class ReleaseOutcome { released, not_owner, absent, not_a_lock };
enum class Force { no, yes };
enum class Wake { push, poll };

struct Renewed {
  RenewOutcome outcome;
  std::uint64_t fence = 0;
};

struct Released {
  ReleaseOutcome outcome;
  std::optional<Record> holder;  ///< who held it
};

/// What check found: who holds the lock.
struct Checked {
  enum class Holder { us, other, nobody };
  Holder holder = Holder::nobody;
  std::uint64_t fence = 0;       ///< of ours; 0 where no record of it is left
  std::optional<Record> record;  ///< of ours, where one is left
};

/// What a server has told a waiter, or a holder, without being asked.
struct Told {
  bool granted = false;                   ///< the lock is ours, once enter confirms it
  bool touched = false;                   ///< the lock's key was written, deleted, or has expired
  bool flushed = false;                   ///< so was everything
  bool queue_lost = false;                ///< a waiter found the queue gone
  std::optional<base::Duration> look_in;  ///< we are among the first of the queue: track, and look in so long
};

/// Whether a reply is an array of just these: i integer, t text, a array. Of any other nothing is believed.
bool is_shaped(const redis::Reply& reply, std::string_view shape);

/// What PTTL says: nullopt without an end, and for a key that is not there.
std::optional<base::Duration> ttl_of(std::int64_t pttl);

/// A script as the server is asked to run it: verb is EVALSHA with its SHA1, or EVAL with its text.
redis::Command script_command(std::string_view verb, std::string_view script, const Names& names,
                              const std::string& token, const std::vector<std::string>& arguments);

/// The protocol of one lock on one server: each method is one script, one round trip (two while the
/// server has not cached the script). `until` bounds each; an unreachable leaves it unknown whether the
/// step was taken, and every step may be repeated.
class Client {
 public:
  Client(redis::Session session, std::string_view wire_key) : session_(std::move(session)), names_(wire_key) {}

  /// ticket: nullopt does not queue; 0 queues behind all; else queues where it stood before.
  base::Result<Entered> enter(const std::string& token, base::Duration ttl, std::optional<std::int64_t> ticket,
                              Wake wake, const Who& who, base::Instant until, base::Poller& poller);

  /// enter behind a subscription to the token's wake-ups, in one flight. Falls back to Wake::poll, which
  /// `wake` then says, where the server speaks no RESP3 or denies the channel.
  base::Result<Entered> enter_subscribed(const std::string& token, base::Duration ttl, std::int64_t ticket, Wake& wake,
                                         const Who& who, base::Instant until, base::Poller& poller);

  base::Result<Renewed> renew(const std::string& token, base::Duration ttl, base::Instant until, base::Poller& poller);

  /// Whether the token holds the lock. Writes nothing, so that nobody is told of a change.
  base::Result<Checked> check(const std::string& token, base::Instant until, base::Poller& poller);

  /// The token is void afterwards, for longer than an enter of it may still be under way.
  base::Result<Released> leave(const std::string& token, Force force, base::Instant until, base::Poller& poller);

  /// Asks the server to push a message when anybody but us touches the lock. Where it cannot, nothing
  /// is lost: the next renewal finds out.
  base::Result<void> watch(base::Instant until, base::Poller& poller);
  /// The same for who has subscribed, and only ever once after each enter. Whether the server does it.
  base::Result<bool> track(base::Instant until, base::Poller& poller);
  /// What was pushed up to now. The scripts read side keys too, and what happens to those, as at every poke of a
  /// waiter, is of no concern.
  base::Result<Told> told();
  /// Whether the lock was touched, or everything flushed.
  base::Result<bool> lock_was_touched();

  redis::Session& session() { return session_; }
  const Names& names() const { return names_; }

 private:
  base::Result<redis::Reply> run(const Script& script, const std::string& token,
                                 const std::vector<std::string>& arguments, base::Instant until, base::Poller& poller);
  redis::Command command(std::string_view verb, std::string_view script, const std::string& token,
                         const std::vector<std::string>& arguments) const;
  base::Result<Entered> read_entered(const redis::Reply& reply) const;
  std::unexpected<base::Error> nonsense() const;

  redis::Session session_;
  Names names_;
  const Script* unknown_ = nullptr;  ///< the server has said that it does not know it, and was not told it since
};

}  // namespace rlock::lock
