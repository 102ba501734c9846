#include "process/live_screen.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "process/keys.hpp"
#include "process/signals.hpp"

namespace rlock::process {

using base::BootClock;
using base::Instant;
using base::Readiness;

namespace {

constexpr int terminal = STDOUT_FILENO;
// Besides those that end a process.
constexpr std::array others{SIGTSTP, SIGCONT, SIGWINCH};

constexpr std::string_view alternate_screen = "\x1b[?1049h";
// No cursor; a line that is too long does not wrap; cleared, also where there is no alternate screen.
constexpr std::string_view set_up = "\x1b[?25l\x1b[?7l\x1b[H\x1b[2J";
constexpr std::string_view leave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view home = "\x1b[H";
constexpr std::string_view clear_line = "\x1b[K";
constexpr std::string_view clear_below = "\x1b[J";

constexpr std::chrono::milliseconds max_stall{500};
constexpr std::chrono::seconds redraw_every{1};

bool is_in_foreground() { return ::tcgetpgrp(terminal) == ::getpgrp(); }

sigset_t wanted_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : others) sigaddset(&set, number);
  for (const int number : ending_signals) {
    if (!is_ignored(number)) sigaddset(&set, number);
  }
  return set;
}

}  // namespace

LiveScreen::LiveScreen(Painter painter) : painter_(std::move(painter)), has_keys_(::isatty(STDIN_FILENO) == 1) {
  const auto wanted = wanted_signals();
  ::sigprocmask(SIG_BLOCK, &wanted, &mask_before_);
  signals_ = base::Fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  ::tcgetattr(terminal, &before_);
  take_terminal();
}

LiveScreen::~LiveScreen() {
  give_back();
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

void LiveScreen::take_terminal() {
  is_shown_ = is_in_foreground();
  if (!is_shown_) return;
  auto modes = before_;
  modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  modes.c_cc[VMIN] = 1;
  modes.c_cc[VTIME] = 0;
  ::tcsetattr(terminal, TCSANOW, &modes);
  // Twice, it would forget where the cursor was before.
  if (!std::exchange(is_entered_, true)) write(alternate_screen);
  write(set_up);
  shown_.clear();
}

void LiveScreen::give_back() {
  is_shown_ = false;
  if (!std::exchange(is_entered_, false)) return;
  write(leave);
  if (is_in_foreground()) ::tcsetattr(terminal, TCSANOW, &before_);
}

// Returns when we are continued. Where nobody could do that (an orphaned process group), the kernel does not stop us.
void LiveScreen::suspend() {
  give_back();
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  take_terminal();
}

void LiveScreen::take_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const auto number = static_cast<int>(info.ssi_signo);
    if (number == SIGTSTP) {
      suspend();
    } else if (number == SIGCONT) {
      // Whoever used the terminal meanwhile has left it in other modes.
      take_terminal();
    } else if (number == SIGWINCH) {
      shown_.clear();
    } else if (!ending_) {
      ending_ = number;
    }
  }
}

void LiveScreen::read_keys() {
  std::array<char, 64> keys{};
  const auto n = ::read(STDIN_FILENO, keys.data(), keys.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) {
    ending_ = SIGHUP;  // the terminal is gone
    return;
  }
  typed_.append(keys.data(), static_cast<std::size_t>(n));
  for (const auto& key : take_keys(typed_)) {
    if (std::holds_alternative<Quit>(key)) {
      ending_ = 0;
      return;
    }
    scroll_.press(std::get<base::ScrollKey>(key));
    redraw_at_ = {};
  }
}

Readiness LiveScreen::wait(std::span<pollfd> fds, Instant until) {
  std::vector<pollfd> all(fds.begin(), fds.end());
  all.push_back({signals_.get(), POLLIN, 0});
  auto& keys = all.emplace_back();
  while (!ending_) {
    // Nobody but SIGCONT, if we had been stopped, tells when the terminal is ours again.
    if (!is_shown_) take_terminal();
    if (shown_.empty() || BootClock::now() >= redraw_at_) draw();
    keys = {has_keys_ && is_shown_ ? STDIN_FILENO : -1, POLLIN, 0};
    const auto wake_at = is_shown_ ? redraw_at_ : BootClock::now() + redraw_every;
    base::poll_until(all, std::min(until, wake_at), nullptr);
    take_signals();
    if (!ending_ && keys.revents != 0) read_keys();
    if (ending_) break;
    std::copy_n(all.begin(), fds.size(), fds.begin());
    if (std::ranges::any_of(fds, [](const pollfd& fd) { return fd.revents != 0; })) return Readiness::ready;
    if (BootClock::now() >= until) return Readiness::timed_out;
  }
  return Readiness::interrupted;
}

void LiveScreen::draw() {
  redraw_at_ = BootClock::now() + redraw_every;
  if (!is_shown_) return;
  if (!is_in_foreground()) {
    is_shown_ = false;
    return;
  }
  const auto size = base::screen_size(terminal);
  auto lines = painter_(size, scroll_);
  if (lines.size() > size.rows) lines.resize(size.rows);
  std::string drawing(home);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) drawing += "\r\n";
    // First: behind a line that fills the screen it would take the last character.
    drawing.append(clear_line).append(lines[i]);
  }
  drawing += clear_below;
  if (drawing == shown_) return;
  shown_ = drawing;
  write(drawing);
}

// A terminal that takes nothing more (Ctrl-S, a connection that hangs) must not keep us from the signals: what it has
// not taken is left out, and drawn later.
void LiveScreen::write(std::string_view text) {
  while (!text.empty()) {
    std::array fds{pollfd{terminal, POLLOUT, 0}};
    if (base::poll_until(fds, BootClock::now() + max_stall, nullptr) <= 0) break;
    const auto n = ::write(terminal, text.data(), std::min(text.size(), base::max_terminal_write));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      ending_ = SIGHUP;
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (!text.empty()) shown_.clear();
}

}  // namespace rlock::process
