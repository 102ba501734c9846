#include "lock/renewal.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <system_error>
#include <vector>

#include "base/log.hpp"

namespace rlock::lock {

using base::BootClock;
using base::Instant;
using base::Readiness;

// Broken off by stop(), for good.
class Renewal::StopPoller final : public base::Poller {
 public:
  explicit StopPoller(int stop) : stop_(stop) {}

  Readiness wait(std::span<pollfd> fds, Instant until) override {
    std::vector<pollfd> all(fds.begin(), fds.end());
    all.push_back({stop_, POLLIN, 0});
    while (true) {
      const int n = base::poll_until(all, until, nullptr);
      if (all.back().revents != 0) return Readiness::interrupted;
      std::copy(all.begin(), all.end() - 1, fds.begin());
      if (n > 0) return Readiness::ready;
      if (BootClock::now() >= until) return Readiness::timed_out;
    }
  }

 private:
  int stop_;
};

base::Result<void> Renewal::start() {
  // Both or none: others may need the descriptor more.
  auto stop = RLOCK_TRY(base::Event::open());
  nudge_ = RLOCK_TRY(base::Event::open());
  stop_ = std::move(stop);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  base::Result<void> started;
  try {
    thread_ = std::thread([this] { keep_alive(); });
  } catch (const std::system_error& error) {
    started = base::fail(base::ErrorCode::internal, error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void Renewal::check_now() { nudge_.raise(); }

void Renewal::stop() {
  if (!thread_.joinable()) return;
  stop_.raise();
  thread_.join();
}

void Renewal::keep_alive() {
  StopPoller poller(stop_.fd());
  next_ = terms_.renew_at(lease_.sent_at);
  // The first renewal also turns the watch on, so that a lock deleted from outside is noticed at once.
  auto went = renew_once(poller);
  while (went == Went::on) {
    switch (sleep(poller, next_)) {
      case Woken::to_renew:
        went = renew_once(poller);
        break;
      case Woken::to_check:
        went = check_once(poller);
        break;
      case Woken::to_stop:
        return;
    }
  }
  // A lock that is only gone leaves the command its grace, which ends when somebody else has the lock.
  while (permit_.loss() == base::Permit::Loss::gone && client_.session().is_open() &&
         sleep(poller, base::never) == Woken::to_check) {
    (void)check_once(poller);
  }
}

// Until it is time, a nudge comes, or the server tells of a change.
Renewal::Woken Renewal::sleep(StopPoller& poller, Instant until) {
  while (true) {
    if (client_.session().is_open()) {
      // Before each wait: what came behind the last reply was read with it, and makes the descriptor readable no more.
      const auto touched = client_.lock_was_touched();
      if (!touched) return Woken::to_renew;  // the connection broke; a renewal makes a new one, and the watch
      if (*touched) return Woken::to_check;
    }
    std::array<pollfd, 2> fds{pollfd{nudge_.fd(), POLLIN, 0}, pollfd{client_.session().fd(), POLLIN, 0}};
    switch (poller.wait(fds, until)) {
      case Readiness::interrupted:
        return Woken::to_stop;
      case Readiness::timed_out:
        return Woken::to_renew;
      case Readiness::ready:
        break;
    }
    if (fds[0].revents != 0) {
      nudge_.clear();
      return Woken::to_renew;
    }
  }
}

// One try must not eat the time of the next.
Instant Renewal::one_try() const {
  return std::min(BootClock::now() + std::max<base::Duration>(terms_.ttl / 6, base::Duration(5)), permit_.until());
}

Renewal::Went Renewal::renew_once(StopPoller& poller) {
  if (BootClock::now() >= permit_.until()) return Went::over;
  if (!client_.session().is_open()) watching_ = false;
  if (!watching_) {
    // Refused or not, it is asked once a connection.
    watching_ = client_.watch(one_try(), poller).has_value();
  }
  auto renewed = client_.renew(lease_.token, terms_.ttl, one_try(), poller);
  if (!renewed) {
    if (renewed.error().code == base::ErrorCode::interrupted) return Went::over;
    if (renewed.error().code == base::ErrorCode::gone) {
      permit_.revoke(base::Permit::Loss::gone);
      return Went::over;
    }
    base::log_debug("not renewed: " + renewed.error().message);
    next_ = BootClock::now() + terms_.retry_pause();
    return Went::on;
  }
  using Holder = Checked::Holder;
  const auto holder = renewed->outcome == RenewOutcome::renewed     ? Holder::us
                      : renewed->outcome == RenewOutcome::not_owner ? Holder::other
                                                                    : Holder::nobody;
  if (judge(holder, renewed->fence) == Went::over) return Went::over;
  const auto sent = client_.session().sent_at();
  // An answer that comes after its own deadline proves nothing.
  if (const auto deadline = terms_.deadline(sent); BootClock::now() < deadline) permit_.extend(deadline);
  next_ = terms_.renew_at(sent);
  return Went::on;
}

Renewal::Went Renewal::check_once(StopPoller& poller) {
  const auto checked = client_.check(lease_.token, one_try(), poller);
  if (checked) return judge(checked->holder, checked->fence);
  if (checked.error().code == base::ErrorCode::interrupted) return Went::over;
  // Nobody knows what the touch was; a renewal will say.
  next_ = BootClock::now();
  return Went::on;
}

Renewal::Went Renewal::judge(Checked::Holder holder, std::uint64_t fence) {
  // Under another fence it is another lease: ours ran out, and an enter that came late took the lock again.
  const bool is_other_lease = fence != 0 && lease_.fence != 0 && fence != lease_.fence;
  if (holder == Checked::Holder::us && !is_other_lease) return Went::on;
  permit_.revoke(holder == Checked::Holder::other ? base::Permit::Loss::taken : base::Permit::Loss::gone);
  return Went::over;
}

}  // namespace rlock::lock
