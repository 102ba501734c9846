#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/permit.hpp"
#include "process/guard.hpp"
#include "process/signals.hpp"

namespace rlock::process {

/// How the command ended.
struct Ending {
  int wait_status = 0;   ///< as from waitpid; of no meaning when `stopped`
  bool stopped = false;  ///< its permit ended or was revoked while it ran
  /// Stopped, and yet something below us may live on. A guard, if there is one, acts when we are gone: leave it alone,
  /// and the lock to it or to the end of its lease.
  bool left_behind = false;
  /// Still there, where there was one: should rlock die now, it gives the lock back. Else stop it last.
  std::optional<Guard> guard;
};

struct Supervision {
  int stop_signal = SIGTERM;                      ///< what asks the command to end when its permit does
  Orders guard;                                   ///< at_end is for the supervisor too: leave the command, or kill it
  std::function<void()> outlived;                 ///< the command has outlived its first milliseconds
  std::function<void()> continued;                ///< we were stopped, for nobody knows how long
  std::function<void(bool revoked)> ended_early;  ///< once, when the permit is over: to say so
};

/// Waits for `child`, forwards to it the signals that it did not get itself, and enforces the permit:
/// stop_signal to it and all below it when the permit is revoked or comes to stop_at; SIGKILL after the
/// grace, until none is left; all by permit.until(). Touches no network, and blocks on nothing but ppoll.
/// The guard and whatever `outlived` starts come into being only when the command has outlived some
/// milliseconds, so that a short job pays for neither.
Ending supervise(pid_t child, Signals& signals, base::Permit& permit, const Supervision& how);

}  // namespace rlock::process
