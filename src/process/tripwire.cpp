#include "process/tripwire.hpp"

#include <csignal>

namespace rlock::process {

Tripwire::Tripwire(base::Instant at) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  if (::timer_create(CLOCK_BOOTTIME, &event, &timer_) != 0) return;
  itimerspec spec{};
  spec.it_value = base::to_timespec(at.time_since_epoch());
  armed_ = ::timer_settime(timer_, TIMER_ABSTIME, &spec, nullptr) == 0;
}

Tripwire::~Tripwire() {
  if (armed_) ::timer_delete(timer_);
}

}  // namespace rlock::process
