#include "lock/renewal.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <system_error>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/text/duration.hpp"
#include "base/wait/boot_timer.hpp"
#include "base/wait/late_requests.hpp"

namespace rlock::lock {

using base::BootClock;
using base::Instant;
using base::Readiness;

namespace {

// Whoever has to know a released lock from a deleted one looks while the tombstone is there, in case the server tells
// nothing.
constexpr base::Duration max_pause_on_release{10'000};
static_assert(2 * max_pause_on_release < base::tombstone_ttl);

// A server whose table of tracked keys is too small (tracking-table-max-keys) tells of changes that are none: a key
// that is looked at pushes others out of the table, whose holders look too, and so on. Others who renew under the
// same token (nested runs) change the key as well, but once in a renewal each.
constexpr int max_vain_checks = 8;
constexpr base::Duration watch_again_after = std::chrono::minutes(10);

}  // namespace

// Broken off by stop(), for good.
class Renewal::StopPoller final : public base::Poller {
 public:
  explicit StopPoller(int stop) : stop_(stop) {}

  Readiness wait(std::span<pollfd> fds, Instant until) override {
    std::vector<pollfd> all(fds.begin(), fds.end());
    all.push_back({stop_, POLLIN, 0});
    while (true) {
      const int n = timer_.poll(all, until, nullptr);
      if (all.back().revents != 0) return Readiness::interrupted;
      std::copy(all.begin(), all.end() - 1, fds.begin());
      if (n > 0) return Readiness::ready;
      if (BootClock::now() >= until) return Readiness::timed_out;
    }
  }

 private:
  int stop_;
  base::BootTimer timer_;
};

base::Result<void> Renewal::start() {
  // Open both or keep none: descriptors may be scarce.
  auto stop = RLOCK_TRY(base::Event::open());
  nudge_ = RLOCK_TRY(base::Event::open());
  stop_ = std::move(stop);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  base::Result<void> started;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    started = base::fail(base::ErrorCode::internal, error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void Renewal::check_now() { nudge_.raise(); }

void Renewal::stop() {
  Turn turn(turn_, std::try_to_lock);
  if (!turn) {
    stop_.raise();
    turn.lock();
  }
  is_stopped_ = true;
}

Renewal::~Renewal() {
  if (!thread_.joinable()) return;
  stop();
  stop_.raise();
  thread_.join();
}

bool Renewal::while_asleep(const std::function<void()>& act) {
  const Turn turn(turn_, std::try_to_lock);
  if (!turn || !is_asleep_) return false;
  act();
  return true;
}

void Renewal::run() {
  Turn turn(turn_);
  StopPoller poller(stop_.fd());
  if (!is_stopped_) renew_until_over(poller, turn);
  // It does not end before it has to: libraries clean up after a thread, and take their locks for that.
  wait(poller, {}, base::never, turn);
}

void Renewal::renew_until_over(StopPoller& poller, Turn& turn) {
  next_ = renew_at(lease_.counts_from);
  // The first renewal also turns the watch on, so that a lock deleted from outside is noticed at once.
  auto proceed = renew_once(poller);
  while (proceed == Proceed::yes) {
    switch (sleep(poller, next_, turn)) {
      case Woken::to_renew:
        proceed = renew_once(poller);
        break;
      case Woken::to_check:
        proceed = check_once(poller);
        break;
      case Woken::to_stop:
        return;
    }
  }
  // A lock that nobody holds leaves the command the time of --kill-after. Go on checking: that time ends when somebody
  // acquires the lock. A connection that was made anew tells of no change, so that is asked for from time to time.
  bool is_told = !holding_.wait_fds().empty();
  while (permit_.loss() == base::Permit::Loss::gone) {
    const auto woken = sleep(poller, is_told ? base::never : BootClock::now() + terms_.retry_pause(), turn);
    if (woken == Woken::to_stop) return;
    is_told &= woken == Woken::to_check;
    (void)check_once(poller);
  }
}

Readiness Renewal::wait(StopPoller& poller, std::span<pollfd> fds, Instant until, Turn& turn) {
  is_asleep_ = true;
  turn.unlock();
  const auto woken = poller.wait(fds, until);
  turn.lock();
  is_asleep_ = false;
  return woken;
}

// Until it is time to renew, check_now() is called, or the server reports a change. Where several hold the lock, each
// renewal of one is a change that all others are told of: they look into it seldom, three times a renewal at most.
Renewal::Woken Renewal::sleep(StopPoller& poller, Instant until, Turn& turn) {
  auto check_at = base::never;
  while (true) {
    // Before each wait: messages that came with the last reply are read already, and no longer make the descriptor
    // readable.
    const auto event = holding_.drain();
    if (!event) return Woken::to_renew;  // the connection broke; a renewal makes a new one
    if (event->touched && vain_checks_ < max_vain_checks) {
      if (!holding_.request().mode.is_for_several()) return Woken::to_check;
      check_at = std::min(check_at, looked_at_ + terms_.look_pause());
    }
    const auto now = BootClock::now();
    if (now >= until) return Woken::to_renew;  // also where messages never stop
    if (now >= check_at) return Woken::to_check;
    auto fds = holding_.wait_fds();
    fds.push_back({nudge_.fd(), POLLIN, 0});
    const auto woken = wait(poller, fds, std::min(until, check_at), turn);
    if (is_stopped_) return Woken::to_stop;
    switch (woken) {
      case Readiness::interrupted:
        return Woken::to_stop;
      case Readiness::timed_out:
        if (BootClock::now() >= until) return Woken::to_renew;
        continue;
      case Readiness::ready:
        break;
    }
    if (fds.back().revents != 0) {
      nudge_.clear();
      return Woken::to_renew;
    }
  }
}

base::Wait Renewal::one_try(StopPoller& poller) const {
  return {std::min(BootClock::now() + terms_.max_try(), permit_.until()), poller};
}

Instant Renewal::renew_at(Instant counts_from) const {
  const auto at = terms_.renew_at(counts_from);
  return on_release_ == OnRelease::end ? std::min(at, counts_from + max_pause_on_release) : at;
}

Renewal::Proceed Renewal::renew_once(StopPoller& poller) {
  if (BootClock::now() >= permit_.until()) return Proceed::no;
  if (vain_checks_ >= max_vain_checks) report_unwatched();
  vain_checks_ = 0;
  const auto renewed = holding_.renew(BootClock::now() < watch_at_ ? Watch::no : Watch::yes, one_try(poller));
  looked_at_ = BootClock::now();
  if (!renewed) {
    if (renewed.error().code == base::ErrorCode::interrupted) return Proceed::no;
    if (renewed.error().code == base::ErrorCode::gone) {
      // Nobody can tell what the next server gives away, or has given: no time for the command.
      permit_.revoke(base::Permit::Loss::taken);
      return Proceed::no;
    }
    report_failing(renewed.error());
    next_ = BootClock::now() + terms_.retry_pause();
    return Proceed::yes;
  }
  if (judge(*renewed) == Proceed::no) return Proceed::no;
  if (renewed->is_reclaimed_late(permit_.until())) {
    permit_.revoke(base::Permit::Loss::gone);
    return Proceed::no;
  }
  if (renewed->is_reclaimed) report_reclaimed(holding_.name(), key());
  // An answer that comes after its own deadline proves nothing.
  const auto deadline = terms_.deadline(renewed->counts_from);
  if (BootClock::now() < deadline) permit_.extend(deadline);
  next_ = renew_at(renewed->counts_from);
  report_renewed(renewed->fence);
  return Proceed::yes;
}

void Renewal::report_unwatched() {
  watch_at_ = BootClock::now() + watch_again_after;
  base::log_debug(holding_.name() + " reports changes of " + key() +
                  " that did not happen: its tracking-table-max-keys may be too small. For the next " +
                  base::age_text(watch_again_after) + " only renewals find out whether the lock is lost");
}

// Of many tries in a row the first one, and how it ended.
void Renewal::report_failing(const base::Error& error) {
  if (std::exchange(failing_since_, failing_since_ ? failing_since_ : looked_at_)) return;
  const auto left = permit_.until() - looked_at_;
  base::log_info("not renewed: " + error.message + "; the lease of " + key() + " lasts for another " +
                     base::age_text(left) + ", trying again",
                 {"renewal_failing",
                  {{"key", key()},
                   {"fence", static_cast<std::int64_t>(lease_.fence)},
                   {"left_ms", std::chrono::duration_cast<std::chrono::milliseconds>(left).count()}}});
}

void Renewal::report_renewed(std::uint64_t fence) {
  const base::LogEvent event{"renewed",
                             {{"key", key()},
                              {"fence", static_cast<std::int64_t>(fence)},
                              {"ttl_ms", std::int64_t{holding_.request().ttl.count()}}}};
  const auto since = std::exchange(failing_since_, std::nullopt);
  if (since) {
    base::log_info("renewed " + key() + " again, after " + base::age_text(looked_at_ - *since), event);
  } else {
    base::log_for_programs(base::LogLevel::debug, "renewed " + key(), event);
  }
}

Renewal::Proceed Renewal::check_once(StopPoller& poller) {
  const auto checked = holding_.check(one_try(poller));
  looked_at_ = BootClock::now();
  // The server may have restarted: a renewal would reclaim the lock.
  const bool may_be_reclaimed =
      checked && checked->holder == Ownership::Holder::nobody && !checked->is_released && !permit_.revoked();
  if (checked && !may_be_reclaimed) {
    const auto proceed = judge(*checked);
    if (proceed == Proceed::yes) ++vain_checks_;
    return proceed;
  }
  if (!checked && checked.error().code == base::ErrorCode::interrupted) return Proceed::no;
  // It is unknown who touched the lock; a renewal will tell.
  next_ = BootClock::now();
  return Proceed::yes;
}

Renewal::Proceed Renewal::judge(const Ownership& ownership) {
  if (ownership.is_of_lease(lease_.fence)) return Proceed::yes;
  if (ownership.is_released && on_release_ == OnRelease::end) {
    permit_.revoke(base::Permit::Loss::released);
    return Proceed::no;
  }
  permit_.revoke(ownership.holder == Ownership::Holder::other ? base::Permit::Loss::taken : base::Permit::Loss::gone);
  return Proceed::no;
}

}  // namespace rlock::lock
