#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "base/wait/clock.hpp"

namespace rlock::process {

/// Which of the signals that rlock got has ended the command; supervise() says which count.
class EndingSignal {
 public:
  /// SIGTERM, SIGHUP, SIGINT and SIGQUIT: what asks a job to end.
  static bool is_for_good(int number);

  /// This one arrived now.
  void got(int number);
  /// For a command that was reaped then, with a status as from waitpid. Nothing: it ended by itself.
  std::optional<int> of(int status, base::Instant reaped_at, std::chrono::nanoseconds kill_after) const;

 private:
  struct Asked {
    int number;
    base::Instant at;
  };
  std::vector<Asked> asked_;  // the last of each
};

}  // namespace rlock::process
