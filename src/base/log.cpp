#include "base/log.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "base/text.hpp"

namespace rlock::base {
namespace {

// Read and written by the renewal thread too.
std::atomic<LogLevel> threshold{LogLevel::note};
std::atomic<int> out{STDERR_FILENO};
std::atomic<int> send_flags{-1};  // >= 0: out is a socket, to be sent to with these
std::atomic<bool> may_block{true};

}  // namespace

void set_log_level(LogLevel level) { threshold = level; }

void log_without_blocking() {
  struct stat st{};
  if (::fstat(STDERR_FILENO, &st) != 0) return;
  may_block = false;
  if (S_ISSOCK(st.st_mode)) {
    send_flags = MSG_DONTWAIT | MSG_NOSIGNAL;
  } else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
    // O_NONBLOCK belongs to the open file, which the command and the caller share: set it on one of
    // our own. Where it cannot be opened anew (another user's pipe) the poll below has to do.
    const int fd = ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0) out = fd;
  }
}

void log(LogLevel level, std::string_view message) {
  if (level > threshold) return;
  const auto line = "rlock: " + printable(message) + "\n";
  if (send_flags >= 0) {
    (void)!::send(STDERR_FILENO, line.data(), line.size(), send_flags);
    return;
  }
  if (!may_block) {
    pollfd ready{out, POLLOUT, 0};
    if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return;
  }
  (void)!::write(out, line.data(), line.size());
}

}  // namespace rlock::base
