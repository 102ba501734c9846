#include "process/terminal.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <initializer_list>

namespace rlock::process {

Terminal::Terminal() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::tcgetattr(standard, &modes_) != 0) continue;
    fd_ = standard;
    return;
  }
}

void Terminal::restore() const {
  if (fd_ < 0) return;
  // An interactive shell as the command has its own process group, which is in the foreground when it dies.
  const pid_t foreground = ::tcgetpgrp(fd_);
  const bool is_ours = foreground == ::getpgrp() || (foreground > 0 && ::kill(-foreground, 0) != 0 && errno == ESRCH);
  if (is_ours) ::tcsetattr(fd_, TCSANOW, &modes_);  // SIGTTOU is blocked; see Signals
}

}  // namespace rlock::process
