#include "process/other_process.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

namespace rlock::process {

using base::ErrorCode;
using base::fail;
using base::Readiness;
using base::Result;

Result<Held> hold_other_process(pid_t pid) {
  const auto name = std::to_string(pid);
  if (pid == ::getpid()) return fail(ErrorCode::usage, name + " is this rlock itself; in a script write $$");
  // The kernel keeps most signals from it, SIGKILL too, and what it started is all there is. A container's script is
  // one, or a process whose parent has ended takes it for that.
  if (pid == 1) {
    return fail(ErrorCode::usage, "process 1 cannot be stopped if the lock is lost; write rlock run KEY -- COMMAND");
  }
  auto fd = open_pid(pid);
  if (!fd && errno == ESRCH) return fail(ErrorCode::usage, "there is no process " + name);
  // A thread has a number too. ENOENT: newer kernels say so.
  if (!fd && (errno == EINVAL || errno == ENOENT)) return fail(ErrorCode::usage, name + " is not a process");
  if (!fd) return base::fail_errno(ErrorCode::internal, "pidfd_open, which Linux has since 5.3");
  Held other(read_process(pid).value_or(Process{.pid = pid}), std::move(fd));
  if (!other.is_alive()) return fail(ErrorCode::usage, "process " + name + " has ended");
  if (other.send(0) == EPERM) {
    return fail(ErrorCode::usage, "process " + name + " belongs to another user");
  }
  return other;
}

Readiness WhileAlive::wait(std::span<pollfd> fds, base::Instant until) {
  std::vector<pollfd> all(fds.begin(), fds.end());
  all.push_back({other_.fd(), POLLIN, 0});
  const auto readiness = inner_.wait(all, until);
  std::copy(all.begin(), all.end() - 1, fds.begin());
  return all.back().revents != 0 ? Readiness::interrupted : readiness;
}

}  // namespace rlock::process
