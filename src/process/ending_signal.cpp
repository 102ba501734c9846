#include "process/ending_signal.hpp"

#include <sys/wait.h>

#include <csignal>

#include "base/exit_status.hpp"

namespace rlock::process {

bool EndingSignal::is_for_good(int number) {
  return number == SIGTERM || number == SIGHUP || number == SIGINT || number == SIGQUIT;
}

void EndingSignal::got(int number) {
  std::erase_if(asked_, [&](const Asked& asked) { return asked.number == number; });
  asked_.push_back({number, base::BootClock::now()});
}

std::optional<int> EndingSignal::of(int status, base::Instant reaped_at, std::chrono::nanoseconds kill_after) const {
  for (const auto& [number, at] : asked_) {
    if (WIFSIGNALED(status) && WTERMSIG(status) == number) return number;
    if (WIFEXITED(status) && WEXITSTATUS(status) == base::exit_signal_base + number) return number;
    // A hang-up may have been a word to a daemon, which ends for reasons of its own much later.
    const bool is_recent = at + kill_after >= reaped_at;
    if (is_for_good(number) && (number != SIGHUP || is_recent)) return number;
  }
  return std::nullopt;
}

}  // namespace rlock::process
