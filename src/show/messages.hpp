#pragma once

#include <string>

#include "base/log.hpp"
#include "lock/backend.hpp"

namespace rlock::show {

/// "ann@web1 pid 12 (LABEL) since 14:05:12": for a line that names the holder and has more to say.
std::string holder_text(const lock::Record& holder);

/// The holder for programs, in the names of `status --json`.
base::LogFields holder_fields(const lock::Record& holder);

/// "held by ...", or why the lock cannot be had though nobody holds it. server: its name.
std::string held_text(const lock::Busy& busy, const std::string& server);

/// key, and the holder as far as it is known.
base::LogFields busy_fields(const std::string& key, const lock::Busy& busy);

/// With -v, and for programs.
void report_acquired(const std::string& key, std::uint64_t fence, std::chrono::nanoseconds waited, base::Duration ttl);

/// run: how its command ended, where that is known.
void report_released(const std::string& key, std::uint64_t fence, std::chrono::nanoseconds held,
                     const lock::LastRun* run = nullptr);

/// "exit 3", "exit 124 (timed out)", "signal 15".
std::string ending_text(const lock::LastRun& run);

/// The end for programs, in the names of `status --json`.
base::LogFields ending_fields(const lock::LastRun& run);

/// What is said of a lock that was lost: a message, and its event for programs.
struct Lost {
  /// It was held for `held`. why, and what is done about it.
  static Lost after(const std::string& key, std::uint64_t fence, std::chrono::nanoseconds held, const std::string& why,
                    const std::string& then);
  /// By a run that still waited for others of its keys.
  static Lost while_waiting(const std::string& key, int exit_status);
  /// A token does not hold it, and nobody else does,
  static Lost to_nobody(const std::string& key, int exit_status);
  /// or somebody else does. holder: nullptr where it is not known who.
  static Lost to_other(const std::string& key, int exit_status, const lock::Record* holder);

  void report() const;
  /// By a process without standard error: to syslog alone. Returns the line for whoever has one.
  std::string for_syslog() const;

  std::string message;
  base::LogEvent event;
};

/// Who has a lock that was lost; nothing where nobody has it by now.
void report_taken(const std::string& key, const lock::Inspection& lock);

std::int64_t ms_of(std::chrono::nanoseconds time);

}  // namespace rlock::show
