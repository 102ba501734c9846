#pragma once

#include <sys/types.h>

#include <atomic>
#include <ctime>
#include <memory>

#include "base/error.hpp"
#include "base/wait/clock.hpp"
#include "base/wait/event.hpp"

namespace rlock::base {

/// The right of the command to run, for as long as the lease is sure to last. The renewal thread extends or revokes it;
/// the supervisor and the guard process, which know nothing of locks, enforce it. With a guard it lives in memory
/// shared with it, so that the guard sees each new end without being woken, and nothing has to be sent when rlock dies.
/// Behind both stands the kernel: see arm().
///
///     now ............ stop_at ......... kill_at ......... until
///          run          |TERM, kill-after|  KILL, reap      |  the kernel's timer; then another may get the lock
class Permit {
 public:
  /// Why it ended before its time, the milder ones first.
  enum class Loss {
    none,
    released,  ///< by somebody who has the token; see lock::OnRelease
    enforced,  ///< the guard had to act: rlock, when it goes on, must treat the lock as lost
    gone,      ///< we do not hold the lock any more
    taken,     ///< another holder has it and may be running: no time for the command
  };

  /// kill_after: between TERM and KILL. kill_time: what killing and reaping may take.
  static Result<Permit> open(Instant until, std::chrono::nanoseconds kill_after, std::chrono::nanoseconds kill_time);
  /// Lets processes that are forked from now on see and change it too. Before any thread uses it; once is enough. Not
  /// done at the start, since a short job has no guard and the memory costs it 2 % of its time.
  Result<void> share();

  /// From here on a timer of the kernel kills this process with SIGKILL at until(), wherever extend() moves that, also
  /// while it is stopped; what has asked to be told of its death (PR_SET_PDEATHSIG) goes on from there. Once, before
  /// any thread uses the permit. Fails (internal) where timers are denied, and where the kernel would pass such a
  /// signal over: as process 1 of a container. self: our pid. Processes that are forked have no part in it.
  Result<void> arm(pid_t self);
  /// Takes the timer away: the command is dead, or has been sent SIGKILL.
  void disarm() { timer_.disarm(); }

  Instant until() const;
  Instant stop_at() const { return until() - kill_after_ - kill_time_; }
  Instant kill_at() const { return until() - kill_time_; }
  std::chrono::nanoseconds kill_after() const { return kill_after_; }
  std::chrono::nanoseconds kill_time() const { return kill_time_; }

  Loss loss() const;
  bool revoked() const { return loss() != Loss::none; }
  /// Whether COMMAND has ended, so that nothing is left to kill.
  bool over() const;

  /// Never moves the end back.
  void extend(Instant until);
  /// The lock is known to be lost, for this reason or a worse one. Makes wake_fd readable.
  void revoke(Loss loss);
  /// COMMAND has ended: see over(). Disarms.
  void end();
  /// From the guard. Wakes nobody.
  void enforce() { raise(Loss::enforced); }

  /// Readable from each revoke() until heard().
  int wake_fd() const { return wake_.fd(); }
  void heard() const { wake_.clear(); }

 private:
  struct Shared {
    std::atomic<Instant::rep> until;
    std::atomic<Loss> loss;
    std::atomic<bool> over;
    // An atomic that uses a mutex would not work between two processes.
    static_assert(decltype(until)::is_always_lock_free && decltype(loss)::is_always_lock_free &&
                  decltype(over)::is_always_lock_free);
  };
  struct Free {
    bool is_mapped;
    void operator()(Shared* shared) const;
  };
  // A timer that sends SIGKILL. It may be moved by one thread while another takes it away.
  class KillTimer {
   public:
    KillTimer() = default;
    KillTimer(KillTimer&& other) noexcept : timer_(other.timer_), is_set_(other.is_set_.exchange(false)) {}
    KillTimer& operator=(KillTimer&&) = delete;
    ~KillTimer() { disarm(); }
    Result<void> arm(Instant at);
    void move(Instant at) const;
    void disarm();

   private:
    timer_t timer_{};
    std::atomic<bool> is_set_ = false;
  };
  Permit(Shared* shared, Event wake, std::chrono::nanoseconds kill_after, std::chrono::nanoseconds kill_time)
      : shared_(shared, Free{false}), wake_(std::move(wake)), kill_after_(kill_after), kill_time_(kill_time) {}
  void raise(Loss loss);

  std::unique_ptr<Shared, Free> shared_;
  Event wake_;
  KillTimer timer_;
  std::chrono::nanoseconds kill_after_;
  std::chrono::nanoseconds kill_time_;
};

}  // namespace rlock::base
