#include "base/wait/poller.hpp"

#include <algorithm>
#include <csignal>

namespace rlock::base {

int poll_until(std::span<pollfd> fds, Instant until, const sigset_t* mask) {
  const auto now = BootClock::now();
  const auto timeout = to_timespec(until > now ? until - now : BootClock::duration::zero());
  return ::ppoll(fds.data(), fds.size(), until >= never ? nullptr : &timeout, mask);
}

bool is_readable(int fd) {
  pollfd ready{fd, POLLIN, 0};
  return ::poll(&ready, 1, 0) > 0;
}

Readiness PlainPoller::wait(std::span<pollfd> fds, Instant until) {
  while (true) {
    const int n = poll_until(fds, until, nullptr);
    if (n > 0) return Readiness::ready;
    if (BootClock::now() >= until) return Readiness::timed_out;
  }
}

Readiness ReleasePoller::wait(std::span<pollfd> fds, Instant until) {
  if (!end_) {
    const auto readiness = inner_.wait(fds, until);
    if (readiness != Readiness::interrupted) return readiness;
    end_ = BootClock::now() + std::chrono::milliseconds(500);
  }
  if (BootClock::now() >= *end_) return Readiness::interrupted;  // also where something is ready all the time
  PlainPoller plain;
  const auto readiness = plain.wait(fds, std::min(until, *end_));
  return readiness == Readiness::timed_out && *end_ < until ? Readiness::interrupted : readiness;
}

}  // namespace rlock::base
