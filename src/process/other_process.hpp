#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/error.hpp"
#include "base/wait/poller.hpp"
#include "process/proc.hpp"

namespace rlock::process {

/// A process that is not ours, pinned by a pidfd. Fails with usage where there is none, or none that may be signalled
/// by us; with internal where the kernel cannot pin it (pidfd_open, Linux 5.3). The messages tell what pid is, not
/// where it comes from.
base::Result<PinnedProcess> pin_other_process(pid_t pid);

/// The standard error of a process, fetched when it is needed: nothing is held open meanwhile. pidfd: of the process;
/// any other descriptor is one that cannot tell.
base::Fd standard_error_of(pid_t pid, int pidfd);
/// Writes a line there. Never blocks.
void say(const base::Fd& standard_error, std::string_view line);

/// Waits as `inner` does, and is interrupted when a process has ended.
class WhileAlive final : public base::Poller {
 public:
  WhileAlive(base::Poller& inner, const PinnedProcess& other) : inner_(inner), other_(other) {}
  base::Readiness wait(std::span<pollfd> fds, base::Instant until) override;

 private:
  base::Poller& inner_;
  const PinnedProcess& other_;
};

}  // namespace rlock::process
