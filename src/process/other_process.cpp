#include "process/other_process.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

Result<PinnedProcess> pin_other_process(pid_t pid) {
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
  PinnedProcess other(read_process(pid).value_or(Process{.pid = pid}), std::move(fd));
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

// Of a file this is a copy of the descriptor: the process and its children share an offset, and would write over what
// comes from another opening. A socket is copied too, because it cannot be opened again. A pipe or a terminal is opened
// again, because a write to a copy could block. (If kernel.yama.ptrace_scope is set, only root may copy.)
base::Fd standard_error_of(pid_t pid, int pidfd) {
  base::Fd copy(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd, STDERR_FILENO, 0)));
  struct stat status{};
  if (copy && ::fstat(copy.get(), &status) == 0 && (S_ISREG(status.st_mode) || S_ISSOCK(status.st_mode))) return copy;
  const auto path = "/proc/" + std::to_string(pid) + "/fd/2";
  return base::Fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
}

void say(const base::Fd& out, std::string_view line) {
  if (!out) return;
  if (::send(out.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != ENOTSOCK) return;
  (void)!::write(out.get(), line.data(), line.size());
}

}  // namespace rlock::process
