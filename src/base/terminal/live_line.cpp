#include "base/terminal/live_line.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include "base/terminal/display.hpp"
#include "base/terminal/screen.hpp"

namespace rlock::base {
namespace {

constexpr std::string_view erase_from_here = "\x1b[J";
constexpr std::string_view erase_line = "\r\x1b[J";

// Whose line stands there. Read by every thread that has something to say.
enum class Owner { nobody, us, another };
std::atomic<Owner> owner{Owner::nobody};

// A shell that has put us into the background writes there itself. One without job control, that of a script, leaves us
// in its group and ignores SIGINT for us.
bool is_in_foreground() {
  struct sigaction on_interrupt{};
  ::sigaction(SIGINT, nullptr, &on_interrupt);
  return ::tcgetpgrp(STDERR_FILENO) == ::getpgrp() && on_interrupt.sa_handler != SIG_IGN;
}

// Several in the foreground (make -j, xargs -P) agree by a record lock on the terminal, which ends with its process.
bool is_locked = false;

struct flock record_of(short type) {
  struct flock record{};
  record.l_type = type;
  record.l_len = 1;
  return record;
}

bool set_record_lock(short type) {
  auto record = record_of(type);
  return ::fcntl(STDERR_FILENO, F_SETLK, &record) == 0;
}

// One that was stopped (Ctrl-Z) keeps its record lock, and draws nothing.
bool is_locked_by_foreground() {
  auto record = record_of(F_WRLCK);
  return ::fcntl(STDERR_FILENO, F_GETLK, &record) == 0 && record.l_type != F_UNLCK &&
         ::getpgid(record.l_pid) == ::getpgrp();
}

// A terminal that knows no such locks is everybody's.
bool lock_terminal() {
  is_locked = is_locked || set_record_lock(F_WRLCK);
  return is_locked || (errno != EAGAIN && errno != EACCES) || !is_locked_by_foreground();
}

void unlock_terminal() {
  if (std::exchange(is_locked, false)) set_record_lock(F_UNLCK);
}

bool takes_output() {
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  return ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0;
}

void write_to_terminal(std::string_view text) {
  while (!text.empty() && takes_output()) {
    const auto n = ::write(STDERR_FILENO, text.data(), std::min(text.size(), max_terminal_write));
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

LiveLine draw_live_line(std::string_view text) {
  if (!is_in_foreground()) {
    unlock_terminal();
    return LiveLine::not_ours;
  }
  if (!lock_terminal()) {
    owner = Owner::another;  // who will draw it again behind what we say
    return LiveLine::not_ours;
  }
  if (!takes_output()) return LiveLine::not_now;
  // The last column stays free: a character there makes some terminals begin a new line.
  const auto line = cut_to_width(text, screen_size(STDERR_FILENO).columns - 1);
  write_to_terminal("\r" + line + std::string(erase_from_here) + "\r");
  owner = Owner::us;
  return LiveLine::drawn;
}

void clear_live_line() {
  // Where it cannot be erased now, it can be in front of what is said next.
  if (owner == Owner::us && takes_output()) write_to_terminal(take_live_line());
  unlock_terminal();
}

std::string_view take_live_line() {
  const auto whose = owner.exchange(Owner::nobody);
  if (whose == Owner::nobody || !is_in_foreground()) return "";
  // Where that of another is gone, what a command has said without a newline may stand.
  return whose == Owner::us || is_locked_by_foreground() ? erase_line : "";
}

}  // namespace rlock::base
