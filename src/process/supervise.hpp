#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/permit.hpp"
#include "process/guard.hpp"
#include "process/signals.hpp"
#include "process/spawn.hpp"

namespace rlock::process {

/// How the command ended.
struct Ending {
  int wait_status = 0;     ///< as from waitpid; of no meaning when `stopped`
  int going_on = 0;        ///< how many processes the command has left running, which may go on
  bool stopped = false;    ///< its permit ended or was revoked while it ran
  bool timed_out = false;  ///< it was ended because it ran until run_until; `stopped` where both are true
  /// All had to end, but something below us may still be alive. Do not release and do not stop the guard: it acts when
  /// rlock has ended; without a guard the lock is free when its lease ends.
  bool left_behind = false;
  /// The guard, still running, if there was one: it releases the lock if rlock dies now. Stop it after the release.
  std::optional<Guard> guard;
};

/// How long supervision goes on: until the command has ended, or everything that it started.
enum class Until { command_ended, all_ended };

struct Supervision {
  int stop_signal = SIGTERM;  ///< what asks the command to end when its permit does
  Until until = Until::command_ended;
  base::Instant run_until = base::never;  ///< the command may run no longer
  /// A random text in the environment of the command and of what it starts.
  std::string marker;
  GuardTask guard;             ///< at_end is for the supervisor too: leave the command, or kill it
  std::string nested_marker;   ///< for NestedRuns
  std::vector<int> outer_fds;  ///< of other processes with which the permit ends too: readable when one is gone
  /// The command has outlived its first milliseconds; called again, after a while, until it is true.
  std::function<bool()> outlived;
  /// Runs this while no other thread of rlock's is at work, as a fork wants it; false, and nothing is run: not now.
  std::function<bool(const std::function<void()>&)> alone;
  std::function<void()> stopping;                 ///< somebody pressed Ctrl-Z: rlock stops behind this
  std::function<void()> continued;                ///< rlock was stopped, for an unknown time
  std::function<void(bool revoked)> ended_early;  ///< once, when the permit is over: to say so
  std::function<void()> timed_out;                ///< likewise, at run_until
};

/// Waits for `child`, forwards signals that it did not get itself, and enforces the permit. When the permit is revoked
/// or reaches stop_at, `child` and all below it get stop_signal, and SIGKILL after --kill-after, until none is left;
/// all of this by permit.until(). If another holder may be running already, they get SIGKILL at once. Uses no network,
/// and blocks on nothing but ppoll.
///
/// At run_until they get the same, while the permit goes on.
///
/// When the command ends by itself, the processes that it left go on, but nested runs are waited for. When a signal
/// ended the command, the processes that it left get that signal too, and SIGKILL after --kill-after, until none is
/// left. A signal counts as the one that ended it if the command died of it or exited with 128 + n; SIGTERM, SIGINT and
/// SIGQUIT always count; SIGHUP counts if the command ended within --kill-after of it. (A job may use SIGHUP or SIGUSR1
/// for its own purposes, and end by itself hours later.)
///
/// The guard is started, and `outlived` is called, only after the command has run for some milliseconds: a short job
/// pays for neither. guard: one that is there already.
Ending supervise(const Spawned& child, Signals& signals, base::Permit& permit, const Supervision& how,
                 std::optional<Guard> guard = std::nullopt);

}  // namespace rlock::process
