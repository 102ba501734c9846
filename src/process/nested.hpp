#pragma once

#include <poll.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/wait/poller.hpp"
#include "process/family.hpp"

namespace rlock::process {

/// A run whose lock an outer run holds already is nested: it works under the lease of the outer run. Only the outer run
/// renews and releases, and it does not release while a nested run works. Each sets its process name to show what it is
/// about to do, and then looks at the name of the other. nested.cpp has the proof.

/// The inner side: the name of a nested run, from construction on. Given up in the destructor, unless it is to stay.
class NestedName {
 public:
  static constexpr const char* name = "rlock-nested";

  NestedName();
  NestedName(const NestedName&) = delete;
  NestedName& operator=(const NestedName&) = delete;
  ~NestedName();
  void stay() { stays_ = true; }

 private:
  std::string before_;
  bool stays_ = false;
};

/// The inner side: the run around this one.
class OuterRun {
 public:
  /// pid: the holder, as its record says. nullopt if that is not a process above this one, or not a run that renews the
  /// lease.
  static std::optional<OuterRun> find(pid_t pid);
  /// Where no record says who holds: the run above this one whose command was started with `marker`
  /// in its environment.
  static std::optional<OuterRun> find_by(const std::string& marker);

  enum class State {
    holds,  ///< it has seen this nested run, or will, before it releases
    gone,
    releasing,  ///< still, at the deadline
  };
  /// Waits while it is about to release. To be called under a NestedName. Fails with interrupted alone.
  base::Result<State> state_by(base::Instant until, base::Poller& poller) const;

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
  /// marker: a random text in the environment of the command and of what it starts. Empty: this run releases nothing,
  /// so it waits for no nested runs.
  explicit NestedRuns(std::string marker) : marker_(std::move(marker)) {}

  /// true: no nested run works, and none will begin before this process has ended. false: fds() has those that work;
  /// ask again when one of them has ended, and from time to time.
  bool none_left(pid_t guard);

  /// Readable when they are gone.
  const std::vector<pollfd>& fds() const { return fds_; }

 private:
  void search(pid_t guard);

  std::string marker_;
  std::vector<PinnedProcess> runs_;
  std::vector<pollfd> fds_;
};

}  // namespace rlock::process
