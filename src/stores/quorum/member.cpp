#include "stores/quorum/member.hpp"

#include <utility>

#include "base/late_requests.hpp"

namespace rlock::quorum {

using namespace std::chrono_literals;
using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::Instant;
using base::Result;
using base::Wait;

void Member::lose() {
  deadline = {};
  is_fence_raised = false;
}

void Member::keep_silent() {
  silent_until = BootClock::now() + base::vote_silence;
  is_unclean = true;
}

bool Member::ask(Instant until, std::function<void(Wait)> step) {
  if (call.is_running()) return false;
  round = asked_for_.round;
  asked = BootClock::now();
  last_answer = Answer::nothing;
  error.reset();
  const bool started = call.start([until, step = std::move(step)](base::Poller& poller) { step({until, poller}); });
  if (!started) {
    last_answer = Answer::failed;
    error = base::Error{ErrorCode::internal, "no memory for a request"};
  }
  return started;
}

bool Member::acquire(lock::Queue queue, Instant until) {
  if (BootClock::now() < silent_until) return false;
  return ask(until, [this, queue, request = *asked_for_.request](Wait wait) {
    if (is_unclean && !clean(request, wait)) return;
    heard(voter->acquire(request, queue, wait));
  });
}

// Gives back what the server may hold for us. A request that goes unanswered may come late, and this one must not. So
// who did not answer before is asked for something harmless first.
bool Member::clean(const lock::Request& request, Wait wait) {
  const auto outcome = [&]() -> Result<void> {
    if (is_unclean) RLOCK_TRY(voter->check(request, wait));
    auto answer = voter->give_back(request, wait);
    if (voter->may_give_back()) keep_silent();
    return answer;
  }();
  is_unclean = !outcome;
  if (outcome) return true;
  last_answer = Answer::failed;
  error = outcome.error();
  return false;
}

void Member::heard(Result<lock::Acquired> acquired) {
  if (!acquired) {
    last_answer = Answer::failed;
    error = std::move(acquired).error();
    skipped_until = BootClock::now() + skip_time;
    return;
  }
  if (const auto* grant = std::get_if<lock::Grant>(&*acquired)) {
    last_answer = Answer::yes;
    if (fence != grant->fence) is_fence_raised = false;
    fence = grant->fence;
    run_id = grant->run_id;
    counts_from = grant->counts_from;
    deadline = lock::vote_deadline(asked_for_.request->ttl, counts_from);
    return;
  }
  lose();
  if (auto* nothing_to_do = std::get_if<lock::AlreadySucceeded>(&*acquired)) {
    last_answer = Answer::done;
    done = std::move(*nothing_to_do);
    return;
  }
  busy = std::get<lock::Busy>(std::move(*acquired));
  last_answer = busy->kept_for ? Answer::young : Answer::held;
  if (asked_for_.ticket == 0) asked_for_.ticket = busy->ticket;
}

void Member::renew(lock::Watch watch, Instant until) {
  const auto vote_before = deadline;
  ask(until, [this, watch, vote_before, request = *asked_for_.request](Wait wait) {
    heard(voter->renew(request, watch, wait), vote_before);
  });
}

void Member::heard(Result<lock::Ownership> renewed, Instant vote_before) {
  if (!renewed) {
    last_answer = Answer::failed;
    error = std::move(renewed).error();
    if (voter->may_reclaim()) keep_silent();
    return;
  }
  was_released = renewed->is_released;
  switch (renewed->holder) {
    case lock::Ownership::Holder::nobody:
      last_answer = Answer::nobody;
      lose();
      return;
    case lock::Ownership::Holder::other:
      last_answer = Answer::held;
      lose();
      return;
    case lock::Ownership::Holder::us:
      break;
  }
  if (renewed->is_reclaimed_late(vote_before)) {
    last_answer = Answer::nobody;
    lose();
    keep_silent();
    return;
  }
  if (renewed->is_reclaimed) lock::report_reclaimed(voter->name(), asked_for_.request->name.key);
  last_answer = Answer::yes;
  counts_from = renewed->counts_from;
  deadline = lock::vote_deadline(asked_for_.request->ttl, counts_from);
  if (fence == 0) fence = renewed->fence;
  if (renewed->fence < asked_for_.fence) is_fence_raised = false;
  ownership = std::move(*renewed);
}

void Member::check(Instant until) {
  ask(until, [this, request = *asked_for_.request](Wait wait) {
    auto found = voter->check(request, wait);
    last_answer = found ? Answer::yes : Answer::failed;
    if (!found) {
      error = std::move(found).error();
      return;
    }
    was_released = found->is_released;
    if (found->holder != lock::Ownership::Holder::us) lose();
    ownership = std::move(*found);
  });
}

void Member::raise_fence(Instant until) {
  ask(until, [this, target = asked_for_.fence, request = *asked_for_.request](Wait wait) {
    const auto raised = voter->raise_fence(request, target, wait);
    if (!raised) {
      last_answer = Answer::failed;
      error = raised.error();
      return;
    }
    last_answer = *raised ? Answer::yes : Answer::nobody;
    if (!*raised) lose();
    is_fence_raised = *raised && target == asked_for_.fence;
  });
}

void Member::release(const lock::ReleaseOptions& options, Instant until) {
  if (call.is_running()) return;
  is_to_release = false;
  ask(until, [this, options, request = *asked_for_.request](Wait wait) {
    auto answer = voter->release(request, options, wait);
    last_answer = answer ? Answer::yes : Answer::failed;
    if (answer) {
      released = std::move(*answer);
    } else {
      error = std::move(answer).error();
    }
  });
}

void Member::give_back(Instant until) {
  lose();
  busy.reset();
  is_unclean |= last_answer == Answer::failed;
  ask(until, [this, request = *asked_for_.request](Wait wait) {
    if (clean(request, wait)) last_answer = Answer::nobody;
  });
}

}  // namespace rlock::quorum
