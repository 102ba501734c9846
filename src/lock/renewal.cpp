#include "lock/renewal.hpp"

#include <sys/eventfd.h>

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

namespace {

void raise_event(int fd) {
  const std::uint64_t one = 1;
  (void)!::write(fd, &one, sizeof one);
}

}  // namespace

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
  stop_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  nudge_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_ || !nudge_) {
    auto failed = base::fail_errno(base::ErrorCode::internal, "eventfd");
    stop_.reset();  // others may need it more
    return failed;
  }
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

void Renewal::check_now() {
  if (nudge_) raise_event(nudge_.get());
}

void Renewal::stop() {
  if (!thread_.joinable()) return;
  raise_event(stop_.get());
  thread_.join();
}

void Renewal::keep_alive() {
  StopPoller poller(stop_.get());
  auto next = terms_.renew_at(lease_.sent_at);
  // The first look also turns the watch on, so that a lock deleted from outside is noticed at once.
  while (renew_once(poller, next) == Went::on && sleep(poller, next) == Went::on) {
  }
}

// Until it is time, a nudge comes, or the server tells of a change.
Renewal::Went Renewal::sleep(StopPoller& poller, Instant until) {
  while (true) {
    std::array<pollfd, 2> fds{pollfd{nudge_.get(), POLLIN, 0}, pollfd{client_.session().fd(), POLLIN, 0}};
    switch (poller.wait(fds, until)) {
      case Readiness::interrupted:
        return Went::over;
      case Readiness::timed_out:
        return Went::on;
      case Readiness::ready:
        break;
    }
    if (fds[0].revents != 0) {
      std::uint64_t count = 0;
      (void)!::read(nudge_.get(), &count, sizeof count);
      return Went::on;
    }
    if (client_.lock_was_touched().value_or(true)) return Went::on;
  }
}

Renewal::Went Renewal::renew_once(StopPoller& poller, Instant& next) {
  const auto now = BootClock::now();
  if (now >= permit_.until()) return Went::over;
  // One try must not eat the time of the next.
  const auto limit = [&] {
    return std::min(BootClock::now() + std::max<base::Duration>(terms_.ttl / 6, base::Duration(5)), permit_.until());
  };
  if (!client_.session().is_open()) watching_ = false;
  if (!watching_) {
    // Refused or not, it is asked once a connection.
    watching_ = client_.watch(limit(), poller).has_value();
  }
  auto renewed = client_.renew(lease_.token, terms_.ttl, limit(), poller);
  if (!renewed) {
    if (renewed.error().code == base::ErrorCode::interrupted) return Went::over;
    base::log_debug("not renewed: " + renewed.error().message);
    next = BootClock::now() + terms_.retry_pause();
    return Went::on;
  }
  // Under another fence it is another lease: ours ran out, and an enter that came late took the lock again.
  const bool is_other = renewed->fence != 0 && renewed->fence != lease_.fence;
  if (renewed->outcome != RenewOutcome::renewed || is_other) {
    permit_.revoke();
    return Went::over;
  }
  const auto sent = client_.session().sent_at();
  // An answer that comes after its own deadline proves nothing.
  if (const auto deadline = terms_.deadline(sent); BootClock::now() < deadline) permit_.extend(deadline);
  next = terms_.renew_at(sent);
  return Went::on;
}

}  // namespace rlock::lock
