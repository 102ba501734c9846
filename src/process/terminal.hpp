#pragma once

#include <termios.h>

namespace rlock::process {

/// The modes of the terminal before the command starts, if there is a terminal. A command that is killed cannot restore
/// what it changed (raw mode, no echo).
class Terminal {
 public:
  /// Remembers those of the first of the standard descriptors that is a terminal.
  Terminal();
  /// Restores them, unless another process group uses the terminal by now. Does not wait, not even for output.
  void restore() const;

 private:
  int fd_ = -1;
  termios modes_{};
};

}  // namespace rlock::process
