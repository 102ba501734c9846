#include "base/poller.hpp"

#include <csignal>

namespace rlock::base {

int poll_until(std::span<pollfd> fds, Instant until, const sigset_t* mask) {
  const auto timeout = to_timespec(until - BootClock::now());
  return ::ppoll(fds.data(), fds.size(), until >= never ? nullptr : &timeout, mask);
}

Readiness PlainPoller::wait(std::span<pollfd> fds, Instant until) {
  while (true) {
    const int n = poll_until(fds, until, nullptr);
    if (n > 0) return Readiness::ready;
    if (BootClock::now() >= until) return Readiness::timed_out;
  }
}

}  // namespace rlock::base
