#pragma once

#include <sys/types.h>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/poller.hpp"
#include "process/proc.hpp"

namespace rlock::process {

/// A process that is not ours, held fast: another one that gets its pid later is never taken for it.
class OtherProcess {
 public:
  /// Fails with usage where there is none, or none that may be signalled by us; with internal where the kernel cannot
  /// hold it (pidfd_open, Linux 5.3). The messages tell what pid is, not where it comes from.
  static base::Result<OtherProcess> open(pid_t pid);

  /// With its start time, for looks below it.
  const Process& process() const { return process_; }
  /// Readable when it has ended, also while its parent has not reaped it.
  int fd() const { return fd_.get(); }
  bool has_ended() const;
  void signal(int number) const;

 private:
  OtherProcess(Process process, base::Fd fd) : process_(process), fd_(std::move(fd)) {}
  Process process_;
  base::Fd fd_;
};

/// Waits as `inner` does, and is interrupted when a process has ended.
class WhileAlive final : public base::Poller {
 public:
  WhileAlive(base::Poller& inner, const OtherProcess& other) : inner_(inner), other_(other) {}
  base::Readiness wait(std::span<pollfd> fds, base::Instant until) override;

 private:
  base::Poller& inner_;
  const OtherProcess& other_;
};

}  // namespace rlock::process
