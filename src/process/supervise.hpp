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
  int going_on = 0;      ///< how many processes the command has left running, which may go on
  bool stopped = false;  ///< its permit ended or was revoked while it ran
  /// All had to end, and yet something below us may live on. A guard, if there is one, acts when we are gone: leave it
  /// alone, and the lock to it or to the end of its lease.
  bool left_behind = false;
  /// Still there, where there was one: should rlock die now, it gives the lock back. Else stop it last.
  std::optional<Guard> guard;
};

/// How long supervision goes on: until the command has ended, or everything that it started.
enum class Until { command_ended, all_ended };

struct Supervision {
  int stop_signal = SIGTERM;  ///< what asks the command to end when its permit does
  Until until = Until::command_ended;
  Orders guard;                     ///< at_end is for the supervisor too: leave the command, or kill it
  std::string nested_marker;        ///< for NestedRuns
  int outer_fd = -1;                ///< readable when the permit ends with another process; -1: there is none
  std::function<void()> outlived;   ///< the command has outlived its first milliseconds
  std::function<void()> continued;  ///< we were stopped, for nobody knows how long
  std::function<void(bool revoked)> ended_early;  ///< once, when the permit is over: to say so
};

/// Waits for `child`, forwards to it the signals that it did not get itself, and enforces the permit:
/// stop_signal to it and all below it when the permit is revoked or comes to stop_at; SIGKILL after the
/// grace, until none is left; all by permit.until(). Where the permit was revoked because somebody else may be running,
/// SIGKILL at once. Touches no network, and blocks on nothing but ppoll.
///
/// When the command has ended by itself, what it left goes on, but nested runs are waited for. When it has ended after
/// a signal, that signal goes to all that it left, and SIGKILL after the grace, until none is left. Such are: any
/// signal that the command died of, or that its status 128 + n tells of; SIGTERM, whenever it came; SIGHUP, SIGINT and
/// SIGQUIT where the command ended within the grace of it. (A job may take SIGHUP or SIGUSR1 for purposes of its own,
/// and end by itself hours later.)
///
/// The guard and whatever `outlived` starts come into being only when the command has outlived some
/// milliseconds, so that a short job pays for neither.
Ending supervise(pid_t child, Signals& signals, base::Permit& permit, const Supervision& how);

}  // namespace rlock::process
