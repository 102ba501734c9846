#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/permit.hpp"
#include "process/family.hpp"

namespace rlock::process {

/// What the guard does at the permit's end when rlock has not acted.
enum class AtEnd { kill, nothing };

struct GuardTask {
  AtEnd at_end = AtEnd::kill;
  /// Its process name.
  const char* name = "rlock-guard";
  /// Its command line, as ps and pgrep -f show it: different from rlock's, so that a pattern for rlock does not match
  /// the guard.
  std::string title;
  /// The line for rlock's standard error where the guard had to act and rlock has said nothing by its end.
  std::function<std::string()> lost;
  /// Runs in the guard when rlock has died and nothing of the command is left.
  std::function<void()> orphaned;
};

/// A small process that watches rlock from outside, because a thread that keeps a deadline stops together with its
/// process. If rlock dies, the guard kills the processes that rlock left and then runs `orphaned`. If rlock is frozen
/// (SIGSTOP, Ctrl-Z), the guard kills them at the end of the permit. It has its own session, so that a signal to
/// rlock's process group does not reach it, and none of rlock's descriptors.
class Guard {
 public:
  /// scope: what is below this process, its root. command: the child that has not been reaped yet; 0: none.
  ///
  /// Forks, for good: the guard never returns from here. To be called while no other thread is at work, since a fork
  /// takes the locks of libraries along as they are.
  static base::Result<Guard> start(base::Permit& permit, Scope scope, pid_t command, const GuardTask& task);
  /// What every guard begins with: forks a process of the background (see become_background), which gets a descriptor
  /// that can be read, or has hung up, as soon as this one is dead (a pidfd, or a pipe where there are none), runs
  /// `work`, and ends.
  static base::Result<Guard> fork_off(const char* name, const std::string& title, std::vector<int> left_open,
                                      const std::function<void(int rlock_fd)>& work);

  Guard(Guard&& other) noexcept : pid_(std::exchange(other.pid_, 0)), alive_(std::move(other.alive_)) {}
  Guard& operator=(Guard&& other) noexcept {
    pid_ = std::exchange(other.pid_, 0);
    alive_ = std::move(other.alive_);
    return *this;
  }

  /// If somebody keeps killing the guard, it is replaced until so many were started.
  static constexpr int max_started = 5;

  pid_t pid() const { return pid_; }
  /// Kills and reaps it. It does nothing afterwards.
  void stop();
  /// It was reaped elsewhere.
  void forget() { pid_ = 0; }

 private:
  Guard(pid_t pid, base::Fd alive) : pid_(pid), alive_(std::move(alive)) {}
  pid_t pid_;
  base::Fd alive_;  ///< the pipe's other end
};

}  // namespace rlock::process
