#pragma once

#include <poll.h>

#include <optional>
#include <span>

#include "base/wait/clock.hpp"

namespace rlock::base {

enum class Readiness { ready, timed_out, interrupted };

/// How a thread waits for descriptors, and what may interrupt it: signals in the main thread, stop() in the renewal
/// thread, nothing in the guard.
class Poller {
 public:
  virtual ~Poller() = default;

  /// Waits until one of fds is ready (revents are set), `until`, or an interruption. An interruption
  /// lasts: every later wait reports it at once.
  virtual Readiness wait(std::span<pollfd> fds, Instant until) = 0;
  /// Whether somebody waits for what this thread does, and the thread for nothing else: it may then look for an answer
  /// again and again for a moment (below a millisecond), in which nothing interrupts it, before it sleeps.
  virtual bool may_spin() const { return false; }
};

/// Waits that nothing breaks off.
class PlainPoller final : public Poller {
 public:
  Readiness wait(std::span<pollfd> fds, Instant until) override;
};

/// Waits as `inner` does, but is interrupted half a second later than `inner`: time to release after a signal.
class ReleasePoller final : public Poller {
 public:
  explicit ReleasePoller(Poller& inner) : inner_(inner) {}
  Readiness wait(std::span<pollfd> fds, Instant until) override;
  bool may_spin() const override { return inner_.may_spin(); }

 private:
  Poller& inner_;
  std::optional<Instant> end_;  ///< once `inner` was broken off
};

/// ppoll with `until` as a timeout, EINTR taken for "look again". Returns the number of ready fds, 0 when
/// nothing happened, -1 for EINTR. mask may be null.
int poll_until(std::span<pollfd> fds, Instant until, const sigset_t* mask);

/// Whether a descriptor can be read now, or has hung up.
bool is_readable(int fd);

}  // namespace rlock::base
