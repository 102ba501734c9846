#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/error.hpp"
#include "base/permit.hpp"

namespace rlock::process {

/// What the guard does at the permit's end when rlock has not acted.
enum class AtEnd { kill, leave };

/// A small process that watches rlock from outside, because a deadline kept by a thread stops with its
/// process. Where rlock dies, it kills what rlock left below itself and then runs `orphaned`. Where rlock
/// is frozen (SIGSTOP, Ctrl-Z), it kills at the permit's end. It has a session of its own, so that what
/// stops or ends rlock's group passes it by, and none of rlock's descriptors.
class Guard {
 public:
  /// Forks: call it before the process has a second thread. environment: the "NAME=value" that marks the
  /// command and what it starts; empty where nothing is marked.
  static base::Result<Guard> start(base::Permit& permit, std::string environment, AtEnd at_end,
                                   const std::function<void()>& orphaned);

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
