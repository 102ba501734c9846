#include "stores/quorum/member.hpp"

#include <utility>

#include "base/wait/late_requests.hpp"

namespace rlock::quorum {

using namespace std::chrono_literals;
using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::Instant;
using base::Result;
using base::Wait;

void Member::lose() {
  vote_.deadline = {};
  raised_to_ = 0;
}

void Member::leave_alone() {
  left_alone_until_ = BootClock::now() + base::left_alone_for;
  is_unclean_ = true;
}

bool Member::ask(Instant until, Call call) {
  if (is_running()) return false;
  join_round();
  asked_at_ = BootClock::now();
  answer_ = Answer::nothing;
  error_.reset();
  const bool started = call_.start([this, until, call = std::move(call)](base::Poller& poller) {
    auto answer = call({until, poller});
    answer_ = answer ? *answer : Answer::failed;
    if (!answer) error_ = std::move(answer).error();
  });
  if (!started) {
    answer_ = Answer::failed;
    error_ = base::Error{ErrorCode::internal, "no memory for a request"};
  }
  return started;
}

void Member::cancel() {
  if (!is_running()) return;
  call_.cancel();
  error_ = base::Error{ErrorCode::unreachable, "no answer from " + name()};
}

bool Member::acquire(lock::Queue queue, Instant until) {
  if (BootClock::now() < left_alone_until_) return false;
  return ask(until, [this, queue, request = *asked_for_.request](Wait wait) -> Result<Answer> {
    if (is_unclean_) RLOCK_TRY(clean(request, wait));
    auto acquired = voter_->acquire(request, queue, wait);
    if (!acquired) pass_over();
    return heard(RLOCK_TRY(std::move(acquired)));
  });
}

// Gives back what the server may hold for us. A request that goes unanswered may come late, and this one must not. So
// who did not answer before is asked for something harmless first.
Result<void> Member::clean(const lock::Request& request, Wait wait) {
  if (is_unclean_) RLOCK_TRY(voter_->check(request, wait));
  auto answer = voter_->release_vote(request, wait);
  if (voter_->may_release_late()) leave_alone();
  is_unclean_ = !answer;
  return answer;
}

Member::Answer Member::heard(lock::Acquired acquired) {
  if (auto* grant = std::get_if<lock::Grant>(&acquired)) {
    if (vote_.fence != grant->fence) raised_to_ = 0;
    vote_ = {grant->counts_from, lock::vote_deadline(asked_for_.request->ttl, grant->counts_from), grant->fence,
             std::move(grant->run_id)};
    return Answer::yes;
  }
  lose();
  if (auto* nothing_to_do = std::get_if<lock::AlreadySucceeded>(&acquired)) {
    done_ = std::move(*nothing_to_do);
    return Answer::done;
  }
  busy_ = std::get<lock::Busy>(std::move(acquired));
  if (asked_for_.ticket == 0) asked_for_.ticket = busy_->ticket;
  return busy_->young_for ? Answer::young : Answer::held;
}

void Member::renew(lock::Watch watch, Instant until) {
  const auto vote_before = vote_.deadline;
  ask(until, [this, watch, vote_before, request = *asked_for_.request](Wait wait) -> Result<Answer> {
    auto renewed = voter_->renew(request, watch, wait);
    if (!renewed && voter_->may_reclaim()) leave_alone();
    return heard(RLOCK_TRY(std::move(renewed)), vote_before);
  });
}

Member::Answer Member::heard(lock::Ownership renewed, Instant vote_before) {
  was_released_ = renewed.is_released;
  if (renewed.holder != lock::Ownership::Holder::us) {
    lose();
    return renewed.holder == lock::Ownership::Holder::nobody ? Answer::nobody : Answer::held;
  }
  if (renewed.is_reclaimed_late(vote_before)) {
    lose();
    leave_alone();
    return Answer::nobody;
  }
  if (renewed.is_reclaimed) lock::report_reclaimed(name(), asked_for_.request->name.key);
  vote_.counts_from = renewed.counts_from;
  vote_.deadline = lock::vote_deadline(asked_for_.request->ttl, renewed.counts_from);
  if (vote_.fence == 0) vote_.fence = renewed.fence;
  if (renewed.fence < asked_for_.fence) raised_to_ = 0;
  ownership_ = std::move(renewed);
  return Answer::yes;
}

void Member::check(Instant until) {
  ask(until, [this, request = *asked_for_.request](Wait wait) -> Result<Answer> {
    ownership_ = RLOCK_TRY(voter_->check(request, wait));
    was_released_ = ownership_->is_released;
    if (ownership_->holder != lock::Ownership::Holder::us) lose();
    return Answer::yes;
  });
}

void Member::raise_fence(Instant until) {
  ask(until, [this, target = asked_for_.fence, request = *asked_for_.request](Wait wait) -> Result<Answer> {
    const bool is_ours = RLOCK_TRY(voter_->raise_fence(request, target, wait));
    if (!is_ours) lose();
    raised_to_ = is_ours ? target : 0;
    return is_ours ? Answer::yes : Answer::nobody;
  });
}

bool Member::release(const lock::ReleaseOptions& options, Instant until) {
  return ask(until, [this, options, request = *asked_for_.request](Wait wait) -> Result<Answer> {
    released_ = RLOCK_TRY(voter_->release(request, options, wait));
    return Answer::yes;
  });
}

bool Member::has_to_release(Instant now) const {
  const bool queues = busy_ && busy_->ticket != 0;
  return !is_running() && now >= left_alone_until_ && (vote_.deadline != Instant{} || queues || is_unclean_);
}

void Member::release_vote(Instant until) {
  lose();
  busy_.reset();
  is_unclean_ |= answer_ == Answer::failed;
  ask(until, [this, request = *asked_for_.request](Wait wait) -> Result<Answer> {
    RLOCK_TRY(clean(request, wait));
    return Answer::nobody;
  });
}

}  // namespace rlock::quorum
