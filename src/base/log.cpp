#include "base/log.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string>

#include "base/syslog.hpp"
#include "base/terminal/live_line.hpp"
#include "base/text/hash.hpp"
#include "base/text/text.hpp"
#include "base/wait/clock.hpp"

namespace rlock::base {
namespace {

// Read and written by the renewal thread too.
std::atomic<LogLevel> threshold{LogLevel::note};
std::atomic<int> out{STDERR_FILENO};
std::atomic<int> send_flags{-1};  // >= 0: out is a socket, to be sent to with these
std::atomic<bool> may_block{true};
std::atomic<bool> is_torn{false};  // a pipe took a part of the last line: the next one is not to be part of it
constexpr int signal_check_ms = 100;
// While another process writes to a terminal, poll(2) says that it takes nothing: for a moment, or for as long as it is
// stopped (Ctrl-S).
constexpr int terminal_moment_ms = 20;
std::atomic<bool> is_terminal{false};  ///< known once lines may not block
std::atomic<LogEncoder> encoder{nullptr};
std::atomic<bool> has_syslog{false};

// In an outage each try says the same, for as long as it lasts. One slot for each of the last texts: its hash above,
// the second below.
constexpr std::chrono::seconds repeat_after{10};
std::array<std::atomic<std::uint64_t>, 64> said{};

// Two threads at once may both say it.
bool was_said_lately(std::string_view message) {
  const auto hash = hash_of(message);
  constexpr std::uint64_t time_bits = 0xffff'ffffU;
  const auto now = std::chrono::floor<std::chrono::seconds>(BootClock::now().time_since_epoch());
  auto& slot = said.at(hash % said.size());
  const auto before = slot.load();
  const std::chrono::seconds ago = now - std::chrono::seconds(before & time_bits);
  slot = (hash & ~time_bits) | (static_cast<std::uint64_t>(now.count()) & time_bits);
  return before != 0 && (before & ~time_bits) == (hash & ~time_bits) && ago < repeat_after;
}

// Programs that read standard error, and people who read the journal later, want to know what went on.
bool is_info_for_programs(LogLevel level) {
  return level == LogLevel::info && threshold != LogLevel::error && (encoder != nullptr || has_syslog);
}

// Signals are blocked in the verbs that hold locks, and a write to a full pipe would keep them out for ever.
bool is_asked_to_end() {
  sigset_t pending;
  sigemptyset(&pending);
  ::sigpending(&pending);
  return std::ranges::any_of(std::array{SIGHUP, SIGINT, SIGQUIT, SIGTERM},
                             [&](int number) { return sigismember(&pending, number) == 1; });
}

// Whether out takes a line now, or a moment later; where it may block, whether it ever will.
bool is_writable() {
  if (out < 0) return false;
  pollfd ready{out, POLLOUT, 0};
  while (::poll(&ready, 1, may_block ? signal_check_ms : is_terminal ? terminal_moment_ms : 0) == 0) {
    if (!may_block || is_asked_to_end()) return false;
  }
  return may_block || (ready.revents & POLLOUT) != 0;
}

void write_line(std::string_view line) {
  if (send_flags >= 0) {
    (void)!::send(STDERR_FILENO, line.data(), line.size(), send_flags);
    return;
  }
  if (!is_writable()) return;
  const auto text = std::string(is_torn ? "\n" : take_live_line()).append(line);
  // Another process may have begun to write since.
  for (int tries = 3; tries > 0; --tries) {
    const auto n = ::write(out, text.data(), text.size());
    if (n >= 0) is_torn = static_cast<std::size_t>(n) < text.size();
    if (n >= 0 || errno != EAGAIN || !is_terminal || !is_writable()) return;
  }
}

}  // namespace

void set_log_level(LogLevel level) { threshold = level; }
void set_log_encoder(LogEncoder to) { encoder = to; }
bool is_log_for_programs() { return encoder != nullptr; }
void log_to_syslog() {
  ::tzset();  // reads a file, which must not wait until a message is urgent
  has_syslog = true;
}

bool is_logged(LogLevel level) { return level <= threshold || is_info_for_programs(level); }

std::string log_line(LogLevel level, std::string_view message, const LogEvent& event) {
  if (const auto encode = encoder.load()) return encode(level, message, event) + "\n";
  return "rlock: " + printable(message) + "\n";
}

void log_without_blocking() {
  struct stat st{};
  if (!may_block || ::fstat(STDERR_FILENO, &st) != 0) return;
  is_terminal = ::isatty(STDERR_FILENO) == 1;
  may_block = false;
  if (S_ISSOCK(st.st_mode)) {
    send_flags = MSG_DONTWAIT | MSG_NOSIGNAL;
  } else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
    // O_NONBLOCK belongs to the open file, which the command and the caller share: set it on one of
    // our own. Where it cannot be opened anew (another user's pipe) the poll below has to do.
    const int fd = ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0) out = fd;
  }
}

void log_without_standard_error() { out = -1; }

void log(LogLevel level, std::string_view message, const LogEvent& event) {
  if (!is_logged(level)) return;
  if (level == LogLevel::debug && was_said_lately(message)) return;
  const auto line = log_line(level, message, event);
  if (level <= threshold || encoder != nullptr) write_line(line);
  if (has_syslog) send_to_syslog(level, encoder != nullptr ? std::string_view(line) : message);
}

void log_advice(std::string_view message) {
  log(::isatty(STDERR_FILENO) == 1 ? LogLevel::note : LogLevel::info, message);
}

void log_for_programs(LogLevel level, std::string_view message, const LogEvent& event) {
  if (encoder != nullptr && is_logged(level)) write_line(log_line(level, message, event));
}

}  // namespace rlock::base
