#include "lock/part.hpp"

#include <utility>

namespace rlock::lock {

using base::BootClock;
using base::Instant;
using base::Wait;

void MultiLock::Part::hold(const Lease& lease, const LeaseTerms& terms) {
  fence = lease.fence;
  counts_from = lease.counts_from;
  deadline = terms.deadline(counts_from);
  next_renewal = terms.renew_at(counts_from);
}

void MultiLock::Part::forget(std::unique_ptr<Backend> another) {
  backend = std::move(another);
  fence = 0;
  counts_from = deadline = next_renewal = {};
  error.reset();
  lost.reset();
  released.reset();
  is_left = false;
}

void MultiLock::Part::ask(Instant until, std::function<void(Wait)> step) {
  error.reset();
  const bool started = call.start([until, step = std::move(step)](base::Poller& poller) { step({until, poller}); });
  if (!started) error = base::Error{base::ErrorCode::internal, "no memory for a request"};
}

void MultiLock::Part::renew(Watch watch, const LeaseTerms& terms, Instant until) {
  next_renewal = BootClock::now() + terms.retry_pause();
  ask(until, [this, watch, terms, before = deadline](Wait wait) {
    const auto renewed = backend->renew(request, watch, wait);
    if (renewed) return heard(*renewed, before, terms);
    error = renewed.error();
    next_renewal = BootClock::now() + terms.retry_pause();
  });
}

void MultiLock::Part::heard(const Ownership& renewed, Instant deadline_before, const LeaseTerms& terms) {
  if (!renewed.is_of_lease(fence) || renewed.is_reclaimed_late(deadline_before)) {
    lose(renewed);
    return;
  }
  if (renewed.is_reclaimed) report_reclaimed(backend->name(), request.name.key);
  if (fence == 0) fence = renewed.fence;
  counts_from = renewed.counts_from;
  deadline = terms.deadline(counts_from);
  next_renewal = terms.renew_at(counts_from);
}

void MultiLock::Part::lose(const Ownership& ownership) {
  const bool is_taken = ownership.holder == Ownership::Holder::other;
  lost = Ownership{.holder = is_taken ? Ownership::Holder::other : Ownership::Holder::nobody,
                   .is_released = ownership.is_released};
}

void MultiLock::Part::check(Instant until) {
  ask(until, [this](Wait wait) {
    const auto found = backend->check(request, wait);
    if (!found) {
      error = found.error();
      return;
    }
    lost.reset();
    if (!found->is_of_lease(fence)) lose(*found);
  });
}

void MultiLock::Part::release(Instant until) {
  ask(until, [this](Wait wait) {
    auto answer = backend->release(request, release_options, wait);
    if (answer) {
      released = std::move(*answer);
    } else {
      error = std::move(answer).error();
    }
  });
}

}  // namespace rlock::lock
