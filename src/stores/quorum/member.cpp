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
  is_raised = false;
}

void Member::keep_silent() {
  silent_until = BootClock::now() + base::vote_silence;
  is_unclean = true;
}

bool Member::ask(Instant until, std::function<void(Wait)> step) {
  if (call.is_running()) return false;
  flight = bid_.flight;
  asked = BootClock::now();
  said = Said::nothing;
  error.reset();
  const bool started = call.start([until, step = std::move(step)](base::Poller& poller) { step({until, poller}); });
  if (!started) {
    said = Said::failed;
    error = base::Error{ErrorCode::internal, "no memory for a request"};
  }
  return started;
}

bool Member::acquire(lock::Queue queue, Instant until) {
  if (BootClock::now() < silent_until) return false;
  return ask(until, [this, queue, request = *bid_.request](Wait wait) {
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
  said = Said::failed;
  error = outcome.error();
  return false;
}

void Member::heard(Result<lock::Acquired> acquired) {
  if (!acquired) {
    said = Said::failed;
    error = std::move(acquired).error();
    skipped_until = BootClock::now() + skip_time;
    return;
  }
  if (const auto* grant = std::get_if<lock::Grant>(&*acquired)) {
    said = Said::yes;
    if (fence != grant->fence) is_raised = false;
    fence = grant->fence;
    run_id = grant->run_id;
    counts_from = grant->counts_from;
    deadline = lock::vote_deadline(bid_.request->ttl, counts_from);
    return;
  }
  lose();
  if (auto* nothing_to_do = std::get_if<lock::AlreadySucceeded>(&*acquired)) {
    said = Said::done;
    done = std::move(*nothing_to_do);
    return;
  }
  busy = std::get<lock::Busy>(std::move(*acquired));
  said = busy->kept_for ? Said::young : Said::held;
  if (bid_.ticket == 0) bid_.ticket = busy->ticket;
}

void Member::renew(lock::Watch watch, Instant until) {
  const auto vote_before = deadline;
  ask(until, [this, watch, vote_before, request = *bid_.request](Wait wait) {
    heard(voter->renew(request, watch, wait), vote_before);
  });
}

void Member::heard(Result<lock::Standing> renewed, Instant vote_before) {
  if (!renewed) {
    said = Said::failed;
    error = std::move(renewed).error();
    if (voter->may_reclaim()) keep_silent();
    return;
  }
  was_released = renewed->is_released;
  switch (renewed->holder) {
    case lock::Standing::Holder::nobody:
      said = Said::nobody;
      lose();
      return;
    case lock::Standing::Holder::other:
      said = Said::held;
      lose();
      return;
    case lock::Standing::Holder::us:
      break;
  }
  if (renewed->is_reclaimed_late(vote_before)) {
    said = Said::nobody;
    lose();
    keep_silent();
    return;
  }
  if (renewed->is_reclaimed) lock::tell_reclaimed(voter->name(), bid_.request->name.key);
  said = Said::yes;
  counts_from = renewed->counts_from;
  deadline = lock::vote_deadline(bid_.request->ttl, counts_from);
  if (fence == 0) fence = renewed->fence;
  if (renewed->fence < bid_.fence) is_raised = false;
  standing = std::move(*renewed);
}

void Member::check(Instant until) {
  ask(until, [this, request = *bid_.request](Wait wait) {
    auto found = voter->check(request, wait);
    said = found ? Said::yes : Said::failed;
    if (!found) {
      error = std::move(found).error();
      return;
    }
    was_released = found->is_released;
    if (found->holder != lock::Standing::Holder::us) lose();
    standing = std::move(*found);
  });
}

void Member::raise(Instant until) {
  ask(until, [this, target = bid_.fence, request = *bid_.request](Wait wait) {
    const auto raised = voter->raise(request, target, wait);
    if (!raised) {
      said = Said::failed;
      error = raised.error();
      return;
    }
    said = *raised ? Said::yes : Said::nobody;
    if (!*raised) lose();
    is_raised = *raised && target == bid_.fence;
  });
}

void Member::release(lock::Force force, Instant until) {
  if (call.is_running()) return;
  is_to_release = false;
  ask(until, [this, force, request = *bid_.request](Wait wait) {
    auto answer = voter->release(request, force, wait);
    said = answer ? Said::yes : Said::failed;
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
  is_unclean |= said == Said::failed;
  ask(until, [this, request = *bid_.request](Wait wait) {
    if (clean(request, wait)) said = Said::nobody;
  });
}

}  // namespace rlock::quorum
