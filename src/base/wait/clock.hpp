#pragma once

#include <chrono>
#include <ctime>

namespace rlock::base {

/// CLOCK_BOOTTIME: monotonic, and it runs on while the machine is suspended, as the server's does.
/// Every deadline of a lease is on it.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  static time_point now() {
    timespec ts{};
    clock_gettime(CLOCK_BOOTTIME, &ts);
    return time_point(std::chrono::seconds(ts.tv_sec) + std::chrono::nanoseconds(ts.tv_nsec));
  }
};

using Instant = BootClock::time_point;
using Duration = std::chrono::milliseconds;

/// "Never": far enough away, and safe to add hours to.
inline constexpr Instant never = Instant::max() - std::chrono::hours(24 * 365);

constexpr timespec to_timespec(std::chrono::nanoseconds ns) {
  if (ns.count() < 0) ns = std::chrono::nanoseconds::zero();
  return {static_cast<time_t>(ns.count() / 1'000'000'000), static_cast<long>(ns.count() % 1'000'000'000)};
}

}  // namespace rlock::base
