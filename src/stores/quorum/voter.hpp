#pragma once

#include <algorithm>

#include "lock/backend.hpp"
#include "lock/lease.hpp"

namespace rlock::quorum {

/// For how long after its start a server gives no vote, since it may have forgotten one: the largest ttl in the fleet,
/// which is `grace`, or the default where that is zero, and `ttl` in any case.
inline base::Duration voteless_after_start(base::Duration grace, base::Duration ttl) {
  return std::max(grace > base::Duration::zero() ? grace : lock::default_ttl, ttl);
}

/// One of several servers that keep a lock by majority; see Quorum. While it is young, it hands the
/// lock to nobody, not even to its holder's waiters.
class Voter : public lock::Backend {
 public:
  /// The next acquire that queues does so with this ticket, if it is earlier than its own: it is the earliest that we
  /// ever had at any server. 0: none.
  virtual void queue_since(std::int64_t ticket) = 0;
  /// Undoes the last acquire: releases the lock or takes the token out of the queue, without a tombstone, since the
  /// token may acquire here again. An acquire that had no answer may still come, and give a vote that nobody counts.
  virtual base::Result<void> release_vote(const lock::Request& request, base::Wait wait) = 0;
  /// Whether the last release_vote went out and had no answer: it may still come, and take away a vote.
  virtual bool may_release_late() const = 0;
  /// Whether a renewal has tried to reclaim the lock, and it is not known whether it did or yet will.
  virtual bool may_reclaim() const = 0;
  /// Where the token holds the lock: from here on every fence is larger than this one, which becomes that of the
  /// record. Returns whether it does.
  virtual base::Result<bool> raise_fence(const lock::Request& request, std::uint64_t fence, base::Wait wait) = 0;
};

}  // namespace rlock::quorum
