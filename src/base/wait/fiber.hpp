#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/wait/stack_switch.hpp"
#include "base/wait/wait.hpp"

namespace rlock::base {

/// A call that waits through a Poller, on a stack of its own: it stands still where it waits, and whoever drives it
/// goes on with other things. One thread drives a fiber from its start to its end, with one exception: cancel() may
/// come from another, if the first does not touch it any more. The call must let no exception out.
class Fiber final : private Poller {
 public:
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  /// Cancels a call that is under way.
  ~Fiber() override;

  /// Runs `call` until its first wait, or to its end. Not while another is under way. Where there is no memory for a
  /// stack, the call is not made: false.
  bool start(std::function<void(Poller&)> call);
  /// Whether a call is under way.
  bool is_running() const { return is_running_; }
  /// What the call waits for.
  std::span<const pollfd> fds() const { return fds_; }
  Instant until() const { return until_; }
  /// Goes on with a call that is under way: `fds` are those of fds() as poll(2) left them. Does nothing where none of
  /// them is ready and until() has not come.
  void advance(std::span<const pollfd> fds);
  /// From here on each wait of the call is interrupted; returns when the call has ended.
  void cancel();

 private:
  struct Stack;
  Readiness wait(std::span<pollfd> fds, Instant until) override;
  void resume();
  static void run(void* fiber);

  std::unique_ptr<Stack> stack_;
  std::function<void(Poller&)> call_;
  SavedContext inside_;
  SavedContext outside_;
  bool is_running_ = false;
  bool is_cancelled_ = false;
  std::span<pollfd> fds_;
  Instant until_{};
  Readiness readiness_ = Readiness::timed_out;
  // For AddressSanitizer and ThreadSanitizer alone.
  [[maybe_unused]] void* fake_stack_ = nullptr;        ///< while the fiber stands still
  [[maybe_unused]] void* outer_fake_stack_ = nullptr;  ///< of the thread that drives it, while it runs
  [[maybe_unused]] const void* outer_bottom_ = nullptr;
  [[maybe_unused]] std::size_t outer_size_ = 0;
  [[maybe_unused]] void* tsan_inside_ = nullptr;
  [[maybe_unused]] void* tsan_outside_ = nullptr;
};

/// Before the calling thread goes on with these fibers: cancels the calls that `owner`, another thread, has begun,
/// since they may have looked up where errno of that thread is. The calling thread is the owner from here on.
void take_over(std::thread::id& owner, std::span<Fiber* const> fibers);

/// Waits until one of these descriptors is ready, a fiber can go on, or `wait` ends; then resumes the fibers that can
/// go on. fds may be empty. When the poller of `wait` is interrupted, the fibers stay as they are.
Readiness drive(std::span<Fiber* const> fibers, std::span<pollfd> fds, Wait wait);

}  // namespace rlock::base
