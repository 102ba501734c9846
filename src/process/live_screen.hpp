#pragma once

#include <termios.h>

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/terminal/screen.hpp"
#include "base/terminal/scroll.hpp"
#include "base/wait/poller.hpp"

namespace rlock::process {

/// The terminal of standard output as a screen that is drawn anew, and left as it was: the alternate screen, without
/// cursor and echo. Everything that waits does so in here: keys that scroll draw anew, `q` and the signals that ask
/// rlock to end interrupt it (and it stays interrupted), a changed size draws anew, Ctrl-Z gives the terminal back
/// until SIGCONT. In the background nothing is drawn or read. Main thread only; from construction on these signals are
/// blocked, but those that were ignored.
class LiveScreen final : public base::Poller {
 public:
  /// What is to be seen on a screen of this size, in lines that fit; called for each drawing. scroll: as the keys have
  /// it.
  using Painter = std::function<std::vector<std::string>(base::ScreenSize, base::Scroll& scroll)>;

  explicit LiveScreen(Painter painter);
  ~LiveScreen() override;
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  base::Readiness wait(std::span<pollfd> fds, base::Instant until) override;

  /// Writes what has changed since the last drawing, if anything. While wait() waits, this happens once a second.
  void draw();
  /// False in the background.
  bool is_shown() const { return is_shown_; }
  /// After an interruption: the signal, 0 for `q`.
  int ending() const { return ending_.value_or(0); }

 private:
  void take_terminal();
  void give_back();
  void suspend();
  void take_signals();
  void read_keys();
  void write(std::string_view text);

  Painter painter_;
  termios before_{};
  sigset_t mask_before_{};
  base::Fd signals_;
  bool has_keys_;
  bool is_entered_ = false;  ///< the alternate screen stands
  bool is_shown_ = false;    ///< ... and the terminal is ours
  std::string typed_;        ///< the beginning of a key whose rest has not come yet
  base::Scroll scroll_;
  std::string shown_;  ///< the last drawing; empty: nobody knows what stands there
  base::Instant redraw_at_{};
  std::optional<int> ending_;
};

}  // namespace rlock::process
