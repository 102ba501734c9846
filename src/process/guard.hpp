#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/permit.hpp"

namespace rlock::process {

/// What the guard does at the permit's end when rlock has not acted.
enum class AtEnd { kill, nothing };

struct Orders {
  AtEnd at_end = AtEnd::kill;
  /// Its process name.
  const char* name = "rlock-guard";
  /// The "NAME=value" in the environment of the command and of what it starts; empty where nothing is marked.
  std::string marker;
  /// Its command line, as ps and pgrep -f show it, so that a pattern that matches rlock's does not match the guard's.
  std::string title;
  /// Runs in the guard when rlock has died and nothing of the command is left.
  std::function<void()> orphaned;
};

/// A small process that watches rlock from outside, because a deadline kept by a thread stops with its
/// process. Where rlock dies, it kills what rlock left below itself and then runs `orphaned`. Where rlock
/// is frozen (SIGSTOP, Ctrl-Z), it kills at the permit's end. It has a session of its own, so that what
/// stops or ends rlock's group passes it by, and none of rlock's descriptors.
class Guard {
 public:
  /// Forks, for good: the guard never returns from here. The process may have other threads by then (a guard that was
  /// killed is replaced), so the guard uses nothing that one of them may have been changing at that moment: the permit,
  /// which is atomic, copies of `orders`, and memory, whose allocator fork keeps in order. `orphaned` has to keep to
  /// this too.
  static base::Result<Guard> start(base::Permit& permit, pid_t command, const Orders& orders);

  Guard(Guard&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  Guard& operator=(Guard&& other) noexcept {
    pid_ = std::exchange(other.pid_, 0);
    return *this;
  }

  pid_t pid() const { return pid_; }
  /// Ends and reaps it. Nothing of it happens after.
  void stop();
  /// It was reaped elsewhere.
  void forget() { pid_ = 0; }

 private:
  explicit Guard(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace rlock::process
