#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/wait/clock.hpp"
#include "commands/keys.hpp"
#include "commands/options.hpp"
#include "commands/run_end.hpp"
#include "show/messages.hpp"

namespace rlock::commands {

/// What a run says of its lock and of its command.
class RunMessages {
 public:
  RunMessages(const Options& options, const Keys& keys, const RunEnd& end)
      : options_(options), keys_(keys), end_(end) {}

  /// It was lost while the command ran. why, and what is done about it.
  show::Lost lost(const std::string& why, const std::string& then) const;
  /// The command did not start.
  void not_started(const std::string& why, int exit_status) const;
  /// Somebody pressed Ctrl-Z: what that costs, while there is time to go on. kill_at: when the command is killed.
  void stopping(base::Instant kill_at) const;
  /// The command has run for --timeout.
  void timed_out() const;
  /// rlock was killed, and with it the command. To syslog alone: a guard has no standard error.
  void killed() const;
  /// The command has ended, and left so many processes running.
  void going_on(int processes) const;
  void no_renewal(const base::Error& error, base::Duration ttl) const;
  /// then: what is tried yet, or nothing.
  void release_failing(const std::string& key, const base::Error& error, base::Duration ttl,
                       const std::string& then) const;

 private:
  const Options& options_;
  const Keys& keys_;
  const RunEnd& end_;
};

/// error: an errno of exec.
std::string cannot_execute(const std::vector<std::string>& command, int error);

}  // namespace rlock::commands
