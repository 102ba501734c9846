#pragma once

#include <csignal>
#include <functional>
#include <optional>
#include <string>

#include "base/permit.hpp"
#include "process/guard.hpp"
#include "process/other_process.hpp"

namespace rlock::process {

/// What goes with a process that has to be stopped: what has its marker, and perhaps what stands below it and started
/// since. A process that the caller merely named may be the parent of half the machine.
enum class Stops { marked, below_too };

/// What a Keeper does: the process that it watches over, which is not our child but has a permit to run all the same,
/// and what happens to it at the permit's end.
struct KeeperTask {
  PinnedProcess process;
  int stop_signal = SIGTERM;   ///< what asks it to end when its permit does
  AtEnd at_end = AtEnd::kill;  ///< nothing: it is told, and goes on
  std::string marker;          ///< a random text in the environment of what it starts
  Stops stops = Stops::marked;
  unsigned long long since = 0;  ///< a start time: what is older has nothing to do with the permit
  std::string guard_title;       ///< of the guard's command line
  /// The line that its standard error gets when the permit is over.
  std::function<std::string(base::Permit::Loss loss)> words;
  /// Runs in the guard when the keeper is dead, and the process has ended or has been stopped.
  std::function<void()> orphaned;
  /// As Supervision has it.
  std::function<bool(const std::function<void()>&)> alone;
};

/// Watches over a process from the background, with a guard beside it, as supervise() does over a command: when the
/// permit is revoked or reaches stop_at, the process and what goes with it get its stop signal, and SIGKILL
/// after --kill-after; if another holder may be running already, SIGKILL at once. If the keeper dies, the guard does
/// the same at the permit's end, and releases the lock when the process has ended; if the keeper is frozen, the guard
/// kills at the end of the permit.
class Keeper {
 public:
  Keeper(base::Permit& permit, const KeeperTask& task) : permit_(permit), task_(task) {}

  /// Starts the guard.
  base::Result<void> begin();

  enum class Ending {
    ended,       ///< the process, by itself
    released,    ///< the permit, with Loss::released
    lost,        ///< the permit otherwise; the process is stopped, or was told
    left_behind  ///< the same, but something may live on: do not release, and leave the guard to try again
  };
  /// Returns when it is over. Uses no network.
  Ending run();
  /// The guard goes on until then: it releases the lock if the keeper dies now.
  void end();

 private:
  base::Result<void> start_guard();

  base::Permit& permit_;
  const KeeperTask& task_;
  std::optional<Guard> guard_;
  base::Fd guard_fd_;
  int guards_ = 0;
};

}  // namespace rlock::process
