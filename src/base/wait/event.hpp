#pragma once

#include <sys/eventfd.h>

#include <cstdint>

#include "base/error.hpp"
#include "base/fd.hpp"

namespace rlock::base {

/// Wakes a thread that polls its descriptor: readable from raise() until clear(), however often it is raised. Both may
/// be called from any thread, and neither blocks. Without open() it has no descriptor, and raise() does nothing.
class Event {
 public:
  Event() = default;
  static Result<Event> open() {
    Event event;
    event.fd_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event.fd_) return fail_errno(ErrorCode::internal, "eventfd");
    return event;
  }

  /// -1 without open().
  int fd() const { return fd_.get(); }

  void raise() const {
    const std::uint64_t one = 1;
    (void)!::write(fd_.get(), &one, sizeof one);
  }
  void clear() const {
    std::uint64_t count = 0;
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): EFD_NONBLOCK
    (void)!::read(fd_.get(), &count, sizeof count);
  }

 private:
  Fd fd_;
};

}  // namespace rlock::base
