#pragma once

#include <algorithm>

#include "base/wait/poller.hpp"

namespace rlock::base {

/// How long a call may wait, and what may break it off early: passed down together to everything that waits.
/// The poller must outlive the call.
class Wait {
 public:
  Wait(Instant until, Poller& poller) : until_(until), poller_(&poller) {}

  Instant until() const { return until_; }
  Poller& poller() const { return *poller_; }
  bool is_over() const { return BootClock::now() >= until_; }
  /// This wait, but until `limit` at the latest.
  Wait at_most(Instant limit) const { return {std::min(until_, limit), *poller_}; }
  /// Its first part, if what is left is divided into so many equal ones.
  Wait share(long parts) const {
    const auto now = BootClock::now();
    return at_most(now + (until_ - now) / parts);
  }

  Readiness operator()(std::span<pollfd> fds) const { return poller_->wait(fds, until_); }

 private:
  Instant until_;
  Poller* poller_;
};

}  // namespace rlock::base
