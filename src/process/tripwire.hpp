#pragma once

#include <ctime>

#include "base/clock.hpp"

namespace rlock::process {

/// Until there is a guard: the kernel kills rlock with SIGKILL at an Instant, though it be stopped just then, and the
/// death signal takes the command along. Without it, an rlock that is frozen in its first milliseconds would leave its
/// command running past the lease, or start it late. Disarmed when destroyed.
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
