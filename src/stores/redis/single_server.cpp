#include "stores/redis/single_server.hpp"

#include <utility>

namespace rlock::redis {

using base::ErrorCode;
using base::Result;
using base::Wait;

Result<lock::Acquired> SingleServer::acquire(const lock::Request& request, lock::Queue queue, Wait wait) {
  auto& session = protocol_.session();
  wait = session.bounded(wait);
  protocol_.attend(request);
  waiter_.waits_in(request.mode);
  const auto before = session.sent_at();
  const bool might_hold = may_hold_;
  auto answer = queue == lock::Queue::no ? protocol_.acquire(request, std::nullopt, Wake::push, wait)
                                         : waiter_.acquire(request, wait);
  if (session.sent_at() != before) may_hold_ = true;
  if (!answer) {
    unanswered_ |= session.is_unanswered(answer, before);
    may_come_late_ |= session.sent_at() != before;
    return std::unexpected(std::move(answer).error());
  }
  if (std::holds_alternative<lock::AlreadySucceeded>(*answer)) may_hold_ = might_hold;
  auto acquired = RLOCK_TRY(to_acquired(std::move(*answer), request));
  if (std::holds_alternative<lock::Grant>(acquired)) RLOCK_TRY(replicate(request, wait));
  return acquired;
}

// After a write of this connection.
Result<void> SingleServer::replicate(const lock::Request& request, Wait wait) {
  const auto wanted = protocol_.safeguards().replicas;
  if (wanted == 0) return {};
  const auto have = RLOCK_TRY(protocol_.replicated(request, wait));
  if (have >= wanted) return {};
  return base::fail(ErrorCode::unready, name() + ": only " + std::to_string(have) + " of " + std::to_string(wanted) +
                                            " replicas have it (--replicas)");
}

Result<lock::Acquired> SingleServer::to_acquired(Answer answer, const lock::Request& request) {
  if (const auto* grant = std::get_if<lock::Grant>(&answer)) {
    holder_.held({.holder = lock::Ownership::Holder::us,
                  .fence = grant->fence,
                  .counts_from = grant->counts_from,
                  .run_id = grant->run_id});
    unanswered_ = true;  // if it is asked for again, only a new Grant shows that we still hold it
    return *grant;
  }
  if (auto* not_held = std::get_if<NotHeld>(&answer)) {
    may_hold_ = not_held->ticket != 0 || unanswered_;
    return waiter_.saw(std::move(*not_held));
  }
  if (auto* done = std::get_if<lock::AlreadySucceeded>(&answer)) return std::move(*done);
  if (const auto* other = std::get_if<OtherMode>(&answer)) {
    may_hold_ = waiter_.is_queued() || unanswered_;
    return base::fail(ErrorCode::configuration, lock::clash(request.name.key, other->mode, request.mode));
  }
  return std::unexpected(lock::released_before());
}

Result<lock::Ownership> SingleServer::renew(const lock::Request& request, lock::Watch watch, Wait wait) {
  protocol_.attend(request);
  auto ownership = holder_.renew(request, watch, wait);
  if (ownership && ownership->holder == lock::Ownership::Holder::us) {
    // The lease counts from here only where a failover would keep it: a replica that has not heard of the renewal lets
    // it end sooner.
    RLOCK_TRY(replicate(request, wait));
    // Also where only the reclaim of an earlier try, which went unanswered, can have found us.
    ownership->is_reclaimed = holder_.take_reclaimed();
  }
  return ownership;
}

Result<lock::Ownership> SingleServer::check(const lock::Request& request, Wait wait) {
  protocol_.attend(request);
  return protocol_.check(request, wait);
}

Result<lock::Released> SingleServer::release(const lock::Request& request, const lock::ReleaseOptions& options,
                                             Wait wait) {
  holder_.reclaim_if_forgotten(request, wait);
  const auto before = protocol_.session().sent_at();
  auto released = protocol_.release(request, options, Tombstone::yes, wait);
  if (released && released->outcome != lock::ReleaseOutcome::released && release_unanswered_) {
    released->outcome = lock::ReleaseOutcome::unknown;
  }
  release_unanswered_ |= protocol_.session().is_unanswered(released, before);
  return released;
}

Result<void> SingleServer::release_vote(const lock::Request& request, Wait wait) {
  const auto before = protocol_.session().sent_at();
  const auto released = protocol_.release(request, {}, Tombstone::no, wait);
  may_release_late_ = !released && protocol_.session().sent_at() != before;
  if (!released) return std::unexpected(released.error());
  may_hold_ = unanswered_ = may_come_late_;
  return {};
}

Result<bool> SingleServer::raise_fence(const lock::Request& request, std::uint64_t fence, Wait wait) {
  return protocol_.raise_fence(request, fence, wait);
}

std::vector<pollfd> SingleServer::wait_fds() const {
  std::vector<pollfd> fds;
  for (const int fd : protocol_.session().fds()) fds.push_back({fd, POLLIN, 0});
  return fds;
}

Result<lock::Event> SingleServer::drain() {
  if (!protocol_.session().is_open()) return lock::Event{};
  return waiter_.event_of(RLOCK_TRY(protocol_.pushed()));
}

}  // namespace rlock::redis
