#pragma once

#include <ctime>

#include "base/clock.hpp"

namespace rlock::process {

/// Protects the time before there is a guard: a kernel timer kills rlock with SIGKILL at an Instant, even if rlock is
/// stopped, and the command's death signal then kills the command. Without it, an rlock that is frozen in its first
/// milliseconds could leave its command running after the end of the lease, or start it too late. Disarmed when
/// destroyed.
class Tripwire {
 public:
  explicit Tripwire(base::Instant at);
  Tripwire(const Tripwire&) = delete;
  Tripwire& operator=(const Tripwire&) = delete;
  ~Tripwire();

 private:
  timer_t timer_{};
  bool armed_ = false;
};

}  // namespace rlock::process
