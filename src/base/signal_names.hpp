#pragma once

#include <csignal>
#include <optional>
#include <string_view>

#include "base/text/number.hpp"

namespace rlock::base {

/// The signal that "TERM", "SIGTERM" or "15" names. By a table, since glibc alone has one that can be asked.
inline std::optional<int> signal_named(std::string_view text) {
  struct Name {
    std::string_view name;
    int number;
  };
  static constexpr Name names[] = {
      {"HUP", SIGHUP},       {"INT", SIGINT},   {"QUIT", SIGQUIT},   {"ILL", SIGILL},   {"TRAP", SIGTRAP},
      {"ABRT", SIGABRT},     {"BUS", SIGBUS},   {"FPE", SIGFPE},     {"KILL", SIGKILL}, {"USR1", SIGUSR1},
      {"SEGV", SIGSEGV},     {"USR2", SIGUSR2}, {"PIPE", SIGPIPE},   {"ALRM", SIGALRM}, {"TERM", SIGTERM},
      {"STKFLT", SIGSTKFLT}, {"CHLD", SIGCHLD}, {"CONT", SIGCONT},   {"STOP", SIGSTOP}, {"TSTP", SIGTSTP},
      {"TTIN", SIGTTIN},     {"TTOU", SIGTTOU}, {"URG", SIGURG},     {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ},
      {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"POLL", SIGPOLL}, {"PWR", SIGPWR},
      {"SYS", SIGSYS},
  };
  if (const auto number = parse_number<int>(text)) return *number > 0 && *number < NSIG ? number : std::nullopt;
  const auto wanted = text.starts_with("SIG") ? text.substr(3) : text;
  for (const auto& [name, number] : names) {
    if (name == wanted) return number;
  }
  return std::nullopt;
}

}  // namespace rlock::base
