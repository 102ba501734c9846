#pragma once

#include <termios.h>

namespace rlock::process {

/// The modes of the terminal that the command is about to get, where it gets one. A command that is killed cannot put
/// back what it changed (raw, no echo), as an editor or a password prompt would.
class Terminal {
 public:
  /// Remembers those of the first of the standard descriptors that is a terminal.
  Terminal();
  /// Puts them back, unless somebody else is at the terminal by now. Waits for nothing, output included.
  void restore() const;

 private:
  int fd_ = -1;
  termios modes_{};
};

}  // namespace rlock::process
