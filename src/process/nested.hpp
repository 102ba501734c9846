#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/poller.hpp"
#include "process/descendants.hpp"

namespace rlock::process {

/// A run of the lock that another run around it holds works under the outer one's lease: only the outer one renews and
/// releases, and it does not release while a nested one is at work. Both say in their process names what they are about
/// to do, each before it looks at the other's name. nested.cpp has the proof.

/// The name of a process, at most 15 bytes: what `ps -o comm` shows. Empty when it is gone.
std::string name_of(pid_t pid);

/// Whether it is an rlock, which passes on to its command the signals that ask it to end.
bool is_run(const Process& process);

/// The inner side: the name of a nested run, from construction on. Given up in the destructor, unless kept.
class NestedName {
 public:
  static constexpr const char* name = "rlock-nested";

  NestedName();
  NestedName(const NestedName&) = delete;
  NestedName& operator=(const NestedName&) = delete;
  ~NestedName();
  void keep() { kept_ = true; }

 private:
  std::string before_;
  bool kept_ = false;
};

/// The inner side: the run around this one.
class OuterRun {
 public:
  /// pid: who is said to hold the lock. nullopt where that is no process above this one, or no run that holds by
  /// itself.
  static std::optional<OuterRun> find(pid_t pid);

  enum class State {
    holds,  ///< it has seen this nested run, or will, before it releases
    gone,
    releasing,  ///< still, at the deadline
  };
  /// Waits while it is about to release. To be called under a NestedName. Fails with interrupted alone.
  base::Result<State> settle(base::Instant until, base::Poller& poller) const;

  /// Readable when it is gone.
  int fd() const { return fd_.get(); }

 private:
  OuterRun(pid_t pid, base::Fd fd) : pid_(pid), fd_(std::move(fd)) {}
  pid_t pid_;
  base::Fd fd_;
};

/// The outer side: the nested runs that are at work.
class NestedRuns {
 public:
  /// marker: the "NAME=value" in the environment of the command and of what it starts. Empty: this run releases
  /// nothing, so it has nobody to wait for.
  explicit NestedRuns(std::string marker) : marker_(std::move(marker)) {}

  /// true: none is at work, and none will begin before this process is gone. false: they stand in fds(), and this is to
  /// be asked again when one of them is gone, and once in a while.
  bool none_left(pid_t guard);

  /// Readable when they are gone.
  const std::vector<pollfd>& fds() const { return fds_; }

 private:
  struct Seen {
    Process process;
    base::Fd fd;
  };
  void search(pid_t guard);
  void add(const Process& process);

  std::string marker_;
  std::vector<Seen> runs_;
  std::vector<pollfd> fds_;
};

}  // namespace rlock::process
