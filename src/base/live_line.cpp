#include "base/live_line.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "base/display.hpp"
#include "base/screen.hpp"

namespace rlock::base {
namespace {

constexpr std::string_view erase_from_here = "\x1b[J";
constexpr std::string_view erase_line = "\r\x1b[J";

// Read by every thread that has something to say.
std::atomic<bool> is_drawn{false};

// A shell that has put us into the background writes there itself.
bool is_ours() { return ::tcgetpgrp(STDERR_FILENO) == ::getpgrp(); }

bool takes_output() {
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  return ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0;
}

// What a terminal that is ready for output takes without waiting, in bytes: of one that nobody reads any more (a
// connection that hangs) it is not the whole line.
constexpr std::size_t max_write = 256;

void write_to_terminal(std::string_view text) {
  while (!text.empty() && takes_output()) {
    const auto n = ::write(STDERR_FILENO, text.data(), std::min(text.size(), max_write));
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

void draw_live_line(std::string_view text) {
  if (!is_ours() || !takes_output()) return;
  // The last column stays free: a character there makes some terminals begin a new line.
  const auto line = cut_to_width(text, screen_size(STDERR_FILENO).columns - 1);
  write_to_terminal("\r" + line + std::string(erase_from_here) + "\r");
  is_drawn = true;
}

void clear_live_line() {
  // Where it cannot be erased now, it can be in front of what is said next.
  if (is_drawn && takes_output()) write_to_terminal(take_live_line());
}

std::string_view take_live_line() { return is_drawn.exchange(false) && is_ours() ? erase_line : ""; }

}  // namespace rlock::base
