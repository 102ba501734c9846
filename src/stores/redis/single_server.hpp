#pragma once

#include "stores/quorum/voter.hpp"
#include "stores/redis/advice.hpp"
#include "stores/redis/protocol.hpp"
#include "stores/redis/survey.hpp"

namespace rlock::redis {

/// Locks that one server keeps, at one place at a time: a lone server, the master that a Sentinel names, the node of a
/// Cluster.
class SingleServer : public quorum::Voter {
 public:
  /// best_wake: how a waiter is woken where the server allows it.
  SingleServer(Session session, const Scripts& scripts, Wake best_wake = Wake::push)
      : protocol_(std::move(session), scripts), best_wake_(best_wake) {}

  base::Result<lock::Acquired> acquire(const lock::Request& request, lock::Queue queue, base::Wait wait) override;
  base::Result<lock::Standing> renew(const lock::Request& request, lock::Watch watch, base::Wait wait) override;
  base::Result<lock::Standing> check(const lock::Request& request, base::Wait wait) override;
  base::Result<lock::Released> release(const lock::Request& request, lock::Force force, base::Wait wait) override;
  base::Result<void> give_back(const lock::Request& request, base::Wait wait) override;
  bool may_give_back() const override { return may_give_back_; }
  base::Result<bool> raise(const lock::Request& request, std::uint64_t fence, base::Wait wait) override;
  bool may_reclaim() const override { return reclaims_; }
  bool may_hold() const override { return may_hold_; }
  std::vector<pollfd> wait_fds() const override;
  base::Result<lock::Event> drain() override;
  base::Result<std::vector<lock::Inspection>> inspect(std::span<const std::string> wire_keys, std::int64_t max_waiters,
                                                      base::Wait wait) override {
    return redis::inspect(protocol_.runner(), wire_keys, max_waiters, wait);
  }
  base::Result<std::vector<std::string>> list(const std::string& prefix, base::Wait wait) override {
    return redis::list(protocol_.session(), prefix, wait);
  }
  base::Result<std::vector<std::string>> warnings(base::Wait wait) override {
    if (protocol_.session().is_private()) return std::vector<std::string>();
    return advice(protocol_.session(), wait);
  }
  base::Duration timeout() const override { return protocol_.session().timeout(); }
  const std::string& name() const override { return protocol_.session().name(); }

 private:
  template <class T>
  bool is_unanswered(const base::Result<T>& result, base::Instant before) const;
  base::Result<void> replicate(const lock::Request& request, base::Wait wait);
  base::Result<lock::Standing> reclaim(const lock::Request& request, base::Wait wait, lock::Standing::Holder others);
  base::Result<Answer> acquire_queueing(const lock::Request& request, base::Wait wait);
  base::Result<lock::Acquired> to_acquired(Answer answer, const lock::Request& request);
  void saw(lock::Busy busy);
  bool is_to_doubt() const;
  void queued_at(std::int64_t ticket);
  void held(lock::Standing standing);
  base::Instant next_look() const;
  bool waits_for_foreign() const;
  base::Duration rank_share(base::Duration each) const;

  Protocol protocol_;
  bool may_hold_ = false;
  bool unanswered_ = false;  ///< a request went unanswered: it may have been granted or queued
  bool is_lost_ = false;     ///< an acquire went unanswered: it may still come
  bool may_give_back_ = false;

  // As a waiter.
  std::int64_t ticket_ = 0;  ///< the earliest that we ever had
  Wake best_wake_;
  Wake wake_ = best_wake_;
  lock::Busy busy_;             ///< as last seen
  base::Instant looked_at_{};   ///< when
  base::Instant holder_end_{};  ///< of the lease of that holder
  bool was_told_ = false;       ///< a message asks for the next look
  int vain_looks_ = 0;          ///< in a row: a message asked for them, and they found nothing new
  lock::Mode mode_;             ///< that we wait for
  bool is_first_ = false;       ///< one of the first of the queue: to track the lock's key
  std::optional<bool> tracks_;  ///< whether the server does, once this connection has asked
  bool is_called_ = false;      ///< a message says that the lock was handed to us
  int hung_up_ = 0;             ///< subscriptions in a row during which the connection broke

  // As a holder.
  std::optional<lock::Standing> renewed_;  ///< the last renewal that found us, before the first one the grant
  std::uint64_t renewed_on_ = 0;           ///< the connection of that
  std::string renewed_at_;                 ///< its peer
  bool reclaims_ = false;                  ///< a reclaim was sent, and no renewal has found us since
  std::uint64_t watches_on_ = 0;           ///< the connection on which that was asked for; 0: none
  bool watch_broke_ = false;               ///< the last try to ask for it broke the connection
  bool release_unanswered_ = false;        ///< a release went unanswered
};

}  // namespace rlock::redis
