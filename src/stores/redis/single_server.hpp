#pragma once

#include "stores/quorum/voter.hpp"
#include "stores/redis/holder.hpp"
#include "stores/redis/inspect.hpp"
#include "stores/redis/protocol.hpp"
#include "stores/redis/server_warnings.hpp"
#include "stores/redis/waiter.hpp"

namespace rlock::redis {

/// Locks that one server keeps, at one place at a time: a lone server, the master that a Sentinel names, the node of a
/// Cluster.
class SingleServer : public quorum::Voter {
 public:
  /// best_wake: how a waiter is woken where the server allows it.
  SingleServer(Session session, const Scripts& scripts, Safeguards safeguards = {}, Wake best_wake = Wake::push)
      : protocol_(std::move(session), scripts, safeguards), waiter_(protocol_, best_wake), holder_(protocol_) {}
  SingleServer(const SingleServer&) = delete;
  SingleServer& operator=(const SingleServer&) = delete;
  ~SingleServer() override = default;

  base::Result<lock::Acquired> acquire(const lock::Request& request, lock::Queue queue, base::Wait wait) override;
  base::Result<lock::Ownership> renew(const lock::Request& request, lock::Watch watch, base::Wait wait) override;
  base::Result<lock::Ownership> check(const lock::Request& request, base::Wait wait) override;
  base::Result<lock::Released> release(const lock::Request& request, const lock::ReleaseOptions& options,
                                       base::Wait wait) override;
  void queue_since(std::int64_t ticket) override { waiter_.queue_since(ticket); }
  base::Result<void> release_vote(const lock::Request& request, base::Wait wait) override;
  bool may_release_late() const override { return may_release_late_; }
  base::Result<bool> raise_fence(const lock::Request& request, std::uint64_t fence, base::Wait wait) override;
  bool may_reclaim() const override { return holder_.may_reclaim(); }
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
    return server_warnings(protocol_.session(), wait);
  }
  base::Duration timeout() const override { return protocol_.session().timeout(); }
  const std::string& name() const override { return protocol_.session().name(); }

 private:
  base::Result<void> replicate(const lock::Request& request, base::Wait wait);
  base::Result<lock::Acquired> to_acquired(Answer answer, const lock::Request& request);

  Protocol protocol_;
  Waiter waiter_;
  Holder holder_;
  bool may_hold_ = false;
  bool unanswered_ = false;     ///< a request went unanswered: it may have been granted or queued
  bool may_come_late_ = false;  ///< an acquire went unanswered: it may still come
  bool may_release_late_ = false;
  bool release_unanswered_ = false;  ///< a release went unanswered
};

}  // namespace rlock::redis
