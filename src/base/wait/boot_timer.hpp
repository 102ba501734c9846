#pragma once

#include <poll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <csignal>
#include <span>

#include "base/fd.hpp"
#include "base/wait/clock.hpp"

namespace rlock::base {

/// A descriptor that becomes readable at an Instant. Unlike a poll timeout, which stands still while the
/// machine is suspended, it is due at once on resume (R13 of tests/PROOFS.md).
class BootTimer {
 public:
  /// -1 before the first set.
  int fd() const { return fd_.get(); }

  /// Replaces what was set before, and takes readability back unless `at` has passed.
  void set(Instant at) {
    if (at == set_) return;
    if (fd_.get() < 0) fd_ = Fd(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
    set_ = at;
    itimerspec spec{};
    spec.it_value = to_timespec(std::max(at.time_since_epoch(), Instant::duration(1)));
    ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
  }

  /// poll_until(fds, until, mask) which ends in time on a machine that was suspended meanwhile. Sets the timer for it,
  /// if it is to be longer than 10 ms.
  int poll(std::span<pollfd> fds, Instant until, const sigset_t* mask);

 private:
  Fd fd_;
  Instant set_{};
};

}  // namespace rlock::base
