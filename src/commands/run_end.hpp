#pragma once

#include "base/wait/clock.hpp"
#include "commands/options.hpp"
#include "lock/backend.hpp"

namespace rlock::commands {

/// What a run tells the server with its release: how it ended (lock::LastRun), and for how much longer nobody is to
/// have the lock (--hold). The hold counts from the answer that gave us the lock, on a clock that nobody sets: so it is
/// as long as asked for at the least, whatever the time is here or there.
class RunEnd {
 public:
  explicit RunEnd(const Options& options) : options_(options) {}

  /// The lock was acquired now.
  void acquired() { since_ = base::BootClock::now(); }

  /// One of the next five is called before the release.
  ///
  /// The command ended under the lock, with a status as from waitpid.
  void ended(int wait_status);
  /// It ran for too long, and was stopped under the lock.
  void timed_out();
  /// The command was killed under the lock, and rlock with it.
  void killed();
  /// The lock was lost while the command ran, or may have been: no hold.
  void lost();
  /// The command did not run: no hold, since another host may have more luck.
  void not_started(int exit_status);
  std::chrono::nanoseconds held_for() const { return base::BootClock::now() - since_; }
  /// How it ended, once that is known.
  const lock::LastRun& run() const { return run_; }
  bool is_known() const { return ended_ != base::Instant{}; }

  /// Of a lock that this one holds. For one try to release: what is left of the hold shrinks.
  lock::ReleaseOptions release_options(const lock::Who& holder) const;

 private:
  enum class Hold { no, yes };
  void end(lock::LastRun run, Hold hold);

  const Options& options_;
  base::Instant since_{};
  base::Instant ended_{};
  base::Instant held_until_{};
  lock::LastRun run_;
};

}  // namespace rlock::commands
