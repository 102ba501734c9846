#pragma once

#include <string>

#include "base/log.hpp"
#include "lock/backend.hpp"

namespace rlock::show {

/// "ann@web1 pid 12 (LABEL) since 14:05:12": for a line that names the holder and has more to say.
std::string holder_text(const lock::Record& holder);

/// The same for programs, in the names of `status --json`.
base::LogFields holder_fields(const lock::Record& holder);

/// "held by ...", or why the lock cannot be had though nobody holds it. server: its name.
std::string held_text(const lock::Busy& busy, const std::string& server);

/// key, and the holder as far as it is known.
base::LogFields busy_fields(const std::string& key, const lock::Busy& busy);

/// With -v, and for programs.
void tell_acquired(const std::string& key, std::uint64_t fence, std::chrono::nanoseconds waited, base::Duration ttl);

/// run: how its command ended, where that is known.
void tell_released(const std::string& key, std::uint64_t fence, std::chrono::nanoseconds held,
                   const lock::LastRun* run = nullptr);

/// "exit 3", "exit 124 (timed out)", "signal 15".
std::string ending_text(const lock::LastRun& run);

/// The same for programs, in the names of `status --json`.
base::LogFields ending_fields(const lock::LastRun& run);

/// How a lock was lost after it was held for `held`, why, and what is done about it: a message and its event.
struct Lost {
  Lost(const std::string& key, std::uint64_t fence, std::chrono::nanoseconds held, const std::string& why,
       const std::string& then);
  std::string message;
  base::LogEvent event;
};

/// Who has a lock that was lost; nothing where nobody has it by now.
void tell_taken(const std::string& key, const lock::Inspection& lock);

std::int64_t ms_of(std::chrono::nanoseconds time);

}  // namespace rlock::show
