#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/wait/wait.hpp"
#include "lock/inspection.hpp"
#include "lock/last_run.hpp"
#include "lock/name.hpp"
#include "lock/ownership.hpp"
#include "lock/who.hpp"

namespace rlock::lock {

/// Which lock, and for whom.
struct Request {
  Name name;
  std::string token;
  base::Duration ttl{};
  Who who;
  Mode mode = {};
  bool is_only_try = false;  ///< a busy lock ends it: that has to be true of the servers as a whole
  base::Duration once{};  ///< for acquire: nothing to do where a run succeeded within the last so much; zero: acquire
  /// Of a lease that another process has acquired, where that is known; else 0. Several servers do not tell it alike.
  std::uint64_t fence = 0;
};

/// We hold the lock.
struct Grant {
  std::uint64_t fence = 0;
  base::Instant counts_from{};  ///< before the request was sent: the lease counts from here (R3 of tests/PROOFS.md)
  std::string run_id = {};      ///< of the server's run, under a grace; else empty
};

/// Another holder has the lock.
struct Busy {
  std::int64_t rank = -1;                         ///< in the queue, from 0; -1 where we do not queue
  std::optional<base::Duration> holder_ttl = {};  ///< nullopt: the holder's lease has no end
  bool holder_is_foreign = false;                 ///< not an rlock: it tells nobody when it releases
  bool is_of_other_form = false;                  ///< ... and its key is as our other scripts have it (Scripts)
  bool is_other_data = false;                     ///< ... and its key holds other data, not a lock
  bool is_for_libraries = false;                  ///< ... nobody has it: for a moment it is left to other programs
  std::optional<Record> holder = {};              ///< where several hold, the one whose end is waited for
  /// The lock is free, and kept for this long because the server is young (--grace); holder_ttl is the same.
  std::optional<base::Duration> young_for = {};
  base::Instant look_at = base::never;  ///< acquire again by then, even if no Event says so
  std::int64_t ticket = 0;              ///< ours in the queue, server microseconds; 0 where we do not queue
};

/// Nothing to do (Request::once). We may be in the queue, or have been handed the lock: may_hold() tells.
struct AlreadySucceeded {
  base::Duration ago{};               ///< when a run succeeded
  std::optional<LastRun> last_run{};  ///< that one, or one that has failed since
};

using Acquired = std::variant<Grant, Busy, AlreadySucceeded>;

/// Whether to join the queue if the lock is busy.
enum class Queue { no, yes };

/// Whether the server is to tell from a renewal on when the lock is touched.
enum class Watch { no, yes };

enum class Force { no, yes };

/// How a lock is released. What a holder may say of the run that ends is for the holder's own release alone.
struct ReleaseOptions {
  Force force = Force::no;  ///< yes: whoever holds it
  base::Duration hold{};    ///< nobody is to have the lock for so long; zero: hand it on
  std::string last_run{};   ///< LastRun::encode() of the run that ends; empty: none does
  base::Duration
      remember{};  ///< ... for how long that is remembered, and the fence with it; longer for a longer `once`
};

enum class ReleaseOutcome {
  released,
  not_owner,   ///< somebody else holds it
  absent,      ///< nobody holds it
  unknown,     ///< not_owner or absent, but an earlier try that was not answered may have released
  not_a_lock,  ///< other data stands under that name; nothing was touched
  other_form   ///< forced: the lock is as our other scripts have it (Scripts); nothing was touched
};

struct Released {
  ReleaseOutcome outcome;
  std::vector<Record> holders = {};  ///< who held it, where it was forced, as far as that is known
  bool is_everywhere = true;         ///< false: one of several servers has not answered, and may have the lock
};

/// What a server has reported without being asked.
struct Event {
  bool granted = false;                 ///< we have been handed the lock; acquire has to confirm it
  bool touched = false;                 ///< the lock was written, deleted, flushed, or has expired: check who holds it
  base::Instant look_at = base::never;  ///< acquire again by then
};

/// A server that did not answer where many locks were looked for: what it keeps is missing in what was found.
struct Unseen {
  std::string server;  ///< HOST:PORT
  base::Error error;
};

/// All steps of a lock on one server or several. An object works on one lock at a time and remembers its place in the
/// queue. Each step ends with its wait or after timeout(), whichever is sooner, and may be repeated. One that fails
/// with unreachable or interrupted may have been carried out all the same. An answer of an unexpected shape is an
/// internal error, never a lost lock.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Fails with unready where fewer replicas than asked for have the lock within the wait; the lock may be
  /// held. Fails with configuration where others use the lock in a mode that the request's cannot wait for.
  virtual base::Result<Acquired> acquire(const Request& request, Queue queue, base::Wait wait) = 0;

  /// Whether a server may know the token of the last acquire: as holder, as waiter, or from a request that was not
  /// answered. If so, it has to be released.
  virtual bool may_hold() const = 0;

  /// Lets the lease run for at least the request's ttl from now. Under Watch::yes events tell from here on when
  /// somebody else touches the lock, as far as the server can do that; where it cannot, the next renewal finds out.
  /// Under Watch::no they do not, from the next renewal on at the latest. Where the server has restarted since the last
  /// renewal and nobody has held the lock since, it is reclaimed.
  virtual base::Result<Ownership> renew(const Request& request, Watch watch, base::Wait wait) = 0;
  /// Who holds the lock. Writes nothing, so that nobody is told of a change.
  virtual base::Result<Ownership> check(const Request& request, base::Wait wait) = 0;
  /// Releases the lock, or takes the token out of the queue, and leaves a tombstone: a late acquire of this token does
  /// nothing.
  virtual base::Result<Released> release(const Request& request, const ReleaseOptions& options, base::Wait wait) = 0;

  /// What to wait for with poll(2) before the next drain(); empty where there is no connection.
  virtual std::vector<pollfd> wait_fds() const = 0;
  /// What has come since the last time, without waiting. Fails once with unreachable where a connection broke.
  virtual base::Result<Event> drain() = 0;

  /// The server for messages; holds no password.
  virtual const std::string& name() const = 0;

  /// Looks at the locks of these wire keys (prefix and KEY), in this order; writes nothing. At most max_waiters of each
  /// queue are listed.
  virtual base::Result<std::vector<Inspection>> inspect(std::span<const std::string> wire_keys,
                                                        std::int64_t max_waiters, base::Wait wait) = 0;
  /// The locks whose wire keys begin with prefix and that are held, waited for, or whose last run is remembered: their
  /// keys without the prefix, sorted. With an empty prefix, each string on the server is listed, since it may be a lock
  /// of another library: the caller drops those that inspect() reports as foreign and without a ttl.
  virtual base::Result<std::vector<std::string>> list(const std::string& prefix, base::Wait wait) = 0;

  /// Which servers the last list() and inspect() found nothing of, though others answered: only where each lock is kept
  /// by one of many. A lock that one of these keeps is inspected as free.
  virtual std::vector<Unseen> unseen() const { return {}; }

  /// How the servers are set up so that locks can be lost: a line each, After inspect() or list().
  virtual base::Result<std::vector<std::string>> warnings(base::Wait wait) = 0;

  /// How long a server may take to connect or to answer.
  virtual base::Duration timeout() const = 0;
  /// After a step that failed because servers must not be asked for a while: when enough of them can be again. Else
  /// long ago.
  virtual base::Instant serves_again() const { return {}; }
};

}  // namespace rlock::lock
