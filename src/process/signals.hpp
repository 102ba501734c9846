#pragma once

#include <sys/types.h>

#include <array>
#include <csignal>
#include <optional>

#include "base/wait/boot_timer.hpp"
#include "base/wait/poller.hpp"

namespace rlock::process {

/// Signals that end a process by default and that people, terminals, init systems and CI runners send.
inline constexpr std::array ending_signals{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};

bool is_ignored(int number);

struct ReceivedSignal {
  int number = 0;
  bool from_terminal = false;  ///< a key of the terminal, or its hang-up: made by the kernel
  pid_t sender = 0;            ///< 0 when from_terminal
};

/// Controls the signals of the process: from construction on, signals that end a process by default are blocked, except
/// while the main thread waits in here; then they are only noted. A signal that was ignored at the start stays ignored.
/// One object per process; main thread only.
class Signals final : public base::Poller {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Interrupted by any signal that asks rlock to end (first_ending); it then stays interrupted.
  base::Readiness wait(std::span<pollfd> fds, base::Instant until) override;
  bool may_spin() const override { return true; }

  /// Whether it is one of those.
  static bool asks_to_end(int number);

  /// Waits likewise, but returns after every signal, SIGCHLD and SIGCONT included.
  void wait_event(std::span<pollfd> fds, base::Instant until);

  /// The first signal that came and was not taken; nullopt when none did.
  std::optional<int> first_ending() const;
  /// Takes the next signal in order of arrival.
  std::optional<ReceivedSignal> take();
  /// Whether SIGCONT came since the last call: we may have been stopped for any time.
  bool take_continued();

  /// From here to let_stop(), Ctrl-Z (SIGTSTP) is only noted, as the others are, unless it was ignored at the start.
  void catch_stop();
  void let_stop();
  /// Whether it came since the last call; whoever asks has to stop().
  bool take_stop();
  /// Stops this process, as Ctrl-Z does. Returns when it is continued; at once where nobody could do that (an orphaned
  /// process group).
  void stop();

  /// Lets signals in for the moment of a vfork (see spawn.cpp), and shuts them out again.
  void open_window();
  void close_window();
  /// For the child: dispositions and mask as the caller of rlock had them. Async-signal-safe.
  void restore_in_child() const;

 private:
  sigset_t original_mask_{};
  sigset_t blocked_mask_{};
  sigset_t open_mask_{};
  sigset_t handled_{};
  sigset_t ignored_{};
  base::BootTimer timer_;
  int ready_in_row_ = 0;  ///< of wait()
};

}  // namespace rlock::process
