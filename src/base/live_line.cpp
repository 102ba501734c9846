#include "base/live_line.hpp"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "base/display.hpp"
#include "base/screen.hpp"

namespace rlock::base {
namespace {

constexpr std::string_view erase_from_here = "\x1b[J";

// Read by every thread that has something to say.
std::atomic<bool> is_drawn{false};

// A shell that has put us into the background writes there itself.
bool may_draw() {
  if (::tcgetpgrp(STDERR_FILENO) != ::getpgrp()) return false;
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  return ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0;
}

void write_to_terminal(std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

}  // namespace

void draw_live_line(std::string_view text) {
  if (!may_draw()) return;
  // The last column stays free: a character there makes some terminals begin a new line.
  const auto line = cut_to_width(text, screen_size(STDERR_FILENO).columns - 1);
  write_to_terminal("\r" + line + std::string(erase_from_here) + "\r");
  is_drawn = true;
}

void clear_live_line() {
  if (!is_drawn.exchange(false) || !may_draw()) return;
  write_to_terminal("\r" + std::string(erase_from_here));
}

}  // namespace rlock::base
