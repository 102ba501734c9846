#include "base/wait/boot_timer.hpp"

#include <vector>

#include "base/wait/poller.hpp"

namespace rlock::base {

int BootTimer::poll(std::span<pollfd> fds, Instant until, const sigset_t* mask) {
  if (until >= never || until - BootClock::now() <= std::chrono::milliseconds(10)) return poll_until(fds, until, mask);
  set(until);
  std::vector<pollfd> all(fds.begin(), fds.end());
  all.push_back({fd(), POLLIN, 0});
  // The bound again, in case there was no descriptor for a timer.
  const int n = poll_until(all, until, mask);
  std::copy(all.begin(), all.end() - 1, fds.begin());
  return n > 0 && all.back().revents != 0 ? n - 1 : n;
}

}  // namespace rlock::base
