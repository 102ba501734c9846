#include "lock/acquire.hpp"

#include <algorithm>
#include <utility>

namespace rlock::lock {

using namespace std::chrono_literals;
using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::Instant;
using base::Readiness;
using base::Result;

namespace {

// A waiter without --wait keeps asking a server that is down for at least this long.
constexpr Duration min_time_for_tries = 10s;
// From this rank on, a waiter's turn is not near.
constexpr std::int64_t far_back_rank = 16;
// Below this one it may be near: the rank is that of the last answer, and all ahead may have had short jobs since.
constexpr std::int64_t very_far_back_rank = 256;
constexpr Duration max_far_back_pause = 800ms;
constexpr int max_too_late = 3;

}  // namespace

Result<std::optional<Lease>> Acquisition::acquire(Patience patience) {
  patience_ = patience;
  auto lease = attempt();
  if (lease && *lease) return lease;
  // An outage must not look like busy: when the time to wait has passed, wait for the server's answer to the release.
  // After an error the server has had its time.
  auto released = release_if_held(BootClock::now() + (lease ? backend_.timeout() : unasked_release_limit));
  is_left_ = !released;
  if (lease) RLOCK_TRY(std::move(released));
  return lease;
}

// Releases if the server may know the token: a request may have been granted or queued without our knowledge. The
// tombstone of the release makes a request that is still on its way do nothing. After a signal, also an earlier one,
// half a second is left for this.
Result<void> Acquisition::release_if_held(Instant until) {
  if (!backend_.may_hold()) return {};
  base::ReleasePoller release_poller(poller_);
  const auto last = std::min(until, patience_.end);
  RLOCK_TRY(base::until_served(last, release_poller, [&](Instant end) {
    return backend_.release(request_, {}, {std::min(end, last), release_poller});
  }));
  return {};
}

// A grant that arrives when its lease is over, or nearly, is not used: ask again, which extends the lease.
Result<std::optional<Lease>> Acquisition::step(Acquired acquired) {
  heard_ = BootClock::now();
  if (const auto since = std::exchange(broken_since_, std::nullopt); since && observer_ != nullptr) {
    observer_->served(request_, backend_.name(), *since);
  }
  if (const auto* grant = std::get_if<Grant>(&acquired)) {
    if (heard_ < terms_.stop_at(terms_.deadline(grant->counts_from))) {
      return Lease{request_.token, grant->fence, grant->counts_from};
    }
    if (met_) met_->look_at = heard_;
    if (++too_late_ < max_too_late) return std::nullopt;
    return base::fail(ErrorCode::unready, backend_.name() + " answers too slowly for this --ttl");
  }
  if (auto* done = std::get_if<AlreadySucceeded>(&acquired)) {
    done_ = std::move(*done);
    return std::nullopt;
  }
  met_ = std::move(std::get<Busy>(acquired));
  return std::nullopt;
}

Result<std::optional<Lease>> Acquisition::attempt() {
  const auto start = BootClock::now();
  const auto limit = start + backend_.timeout();
  request_.is_only_try = patience_.give_up <= start;
  const auto ask = [&] {
    const auto until = std::max(patience_.is_for_ever() ? limit : std::max(patience_.give_up, limit),
                                BootClock::now() + base::min_try);
    return backend_.acquire(request_, Queue::no, {std::min(until, patience_.end), poller_});
  };
  auto acquired = ask();
  // The connection broke before the answer came: ask again to learn whether the first request was granted.
  const bool is_unanswered = !acquired && acquired.error().code == ErrorCode::unreachable && backend_.may_hold();
  if (is_unanswered && BootClock::now() < std::min(limit, patience_.end)) acquired = ask();
  while (!acquired) {
    RLOCK_TRY(pause_or_fail(acquired.error(), start));
    acquired = ask();
  }
  auto lease = step(std::move(*acquired));
  if (!lease || *lease || done_) return lease;
  if (too_late_ == 0 && BootClock::now() >= patience_.give_up) return std::nullopt;
  return queue_up();
}

// Pauses after a try that began at `asked` and failed. Fails with that error if it is permanent, or if the time for
// tries is over. That time counts from the first failed try, not from the last answer, which may be long ago.
Result<void> Acquisition::pause_or_fail(const base::Error& error, Instant asked) {
  if (!base::may_pass(error)) return std::unexpected(error);
  const bool served_before = heard_ != Instant{};
  if (!broken_since_) broken_since_ = asked;
  const auto timeout = backend_.timeout();
  const auto tries = served_before ? std::max({terms_.ttl, min_time_for_tries, timeout}) : timeout;
  const auto enough = std::max<Instant>(*broken_since_ + tries, backend_.serves_again() + timeout);
  const auto end = patience_.is_for_ever() ? enough : patience_.give_up;
  if (BootClock::now() >= end) return std::unexpected(error);
  if (observer_ != nullptr) observer_->unserved(request_, backend_.name(), error, *broken_since_);
  return pause(end);
}

// After an outage all clients come back, and the server may have too few connections for all. The holder, which has to
// renew or release, and the first waiters must come first, so the others pause for longer.
Result<void> Acquisition::pause(Instant end) {
  const auto rank = met_ ? met_->rank : 0;
  auto pause = backoff_.next() * (rank >= far_back_rank ? 4 : 1);
  if (rank < very_far_back_rank) pause = std::min(pause, max_far_back_pause);
  if (poller_.wait({}, std::min(BootClock::now() + pause, end)) == Readiness::interrupted) return base::interrupted();
  return {};
}

Result<std::optional<Lease>> Acquisition::queue_up() {
  while (true) {
    const auto asked = BootClock::now();
    // Not cut short by give_up alone: a server that hangs is unreachable, not busy.
    const auto until = std::min(std::max(patience_.give_up, asked + base::min_try), patience_.end);
    auto acquired = backend_.acquire(request_, Queue::yes, {until, poller_});
    if (!acquired) {
      RLOCK_TRY(pause_or_fail(acquired.error(), asked));
      continue;
    }
    auto lease = step(std::move(*acquired));
    if (!lease || *lease || done_) return lease;
    if (met_ && observer_ != nullptr) observer_->busy(request_, backend_.name(), *met_);
    const bool again = RLOCK_TRY(wait_for_turn());
    if (!again) return std::nullopt;
  }
}

// true: ask again; false: the time to wait is over.
Result<bool> Acquisition::wait_for_turn() {
  const auto give_up = patience_.give_up;
  auto look = met_ ? met_->look_at : BootClock::now();
  while (true) {
    const auto event = backend_.drain();
    if (!event) {
      if (BootClock::now() >= give_up) return false;
      backoff_.broke(heard_);
      RLOCK_TRY(pause(give_up));
      return true;
    }
    if (event->granted) return true;
    look = std::min(look, event->look_at);
    auto fds = backend_.wait_fds();
    switch (poller_.wait(fds, std::min(look, give_up))) {
      case Readiness::interrupted:
        return base::interrupted();
      case Readiness::timed_out:
        return BootClock::now() < give_up;
      case Readiness::ready:
        // Where messages never stop, there is always something ready.
        if (const auto now = BootClock::now(); now >= std::min(look, give_up)) return now < give_up;
        break;
    }
  }
}

}  // namespace rlock::lock
