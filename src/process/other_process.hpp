#pragma once

#include <sys/types.h>

#include "base/error.hpp"
#include "base/poller.hpp"
#include "process/proc.hpp"

namespace rlock::process {

/// A process that is not ours, held by a pidfd. Fails with usage where there is none, or none that may be signalled by
/// us; with internal where the kernel cannot hold it (pidfd_open, Linux 5.3). The messages tell what pid is, not where
/// it comes from.
base::Result<Held> hold_other_process(pid_t pid);

/// Waits as `inner` does, and is interrupted when a process has ended.
class WhileAlive final : public base::Poller {
 public:
  WhileAlive(base::Poller& inner, const Held& other) : inner_(inner), other_(other) {}
  base::Readiness wait(std::span<pollfd> fds, base::Instant until) override;

 private:
  base::Poller& inner_;
  const Held& other_;
};

}  // namespace rlock::process
