#pragma once

#include <array>
#include <string_view>

#include "base/error.hpp"

namespace rlock::base {

/// Exit statuses of rlock itself. The numbers of sysexits.h where it has one.
enum ExitStatus : int {
  exit_success = 0,
  exit_free = 1,  ///< status --exit-code
  exit_usage = 64,
  exit_unavailable = 69,
  exit_internal = 70,
  exit_busy = 75,
  exit_refused = 77,
  exit_configuration = 78,
  exit_lost = 79,
  exit_timed_out = 124,
  exit_cannot_start = 125,
  exit_not_executable = 126,
  exit_not_found = 127,
  exit_signal_base = 128,
};

struct ExitRow {
  std::string_view status;
  std::string_view when;
  std::string_view brief;  ///< behind the status, in a line with others
};

/// The table that --help and the man page print; the only place where the meanings are written.
inline constexpr std::array exit_table{
    ExitRow{"COMMAND's", "it ran to its end, and the lock was held throughout; 128+n if signal n ended it", "own"},
    ExitRow{"0", "success; run: only if COMMAND succeeded under the lock, or --once had nothing to do", "success"},
    ExitRow{"1", "status --exit-code: KEY is free", "free (--exit-code)"},
    ExitRow{"64", "usage", "usage"},
    ExitRow{"69", "no server was reached, or it cannot serve now (status: also if not all could be shown)",
            "no server reached"},
    ExitRow{"70", "internal error", "internal error"},
    ExitRow{"75", "busy: not acquired in time; --conflict-exit-code changes it", "busy"},
    ExitRow{"77", "the server refused us: authentication or ACL", "refused"},
    ExitRow{"78", "configuration, or KEY is in use with other --slots", "configuration"},
    ExitRow{"79", "the lock was lost: not renewed in time, or the token is not the holder's", "lock lost"},
    ExitRow{"124", "COMMAND was stopped because it ran for longer than --timeout", "timed out"},
    ExitRow{"125", "rlock failed after the lock was acquired and before COMMAND ran", "COMMAND not started"},
    ExitRow{"126", "COMMAND was found but could not be executed", "not executable"},
    ExitRow{"127", "COMMAND was not found", "not found"},
    ExitRow{"137", "rlock was killed: by somebody, or by the kernel because rlock was frozen until its lease ended",
            "killed"},
    ExitRow{"128+n", "signal n ended rlock while it waited; it has left the queue", "ended by a signal"},
};

/// The status that stands for an error. Interrupted has none of its own: 128 + the signal.
constexpr int exit_status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return exit_usage;
    case ErrorCode::configuration:
      return exit_configuration;
    case ErrorCode::unreachable:
    case ErrorCode::gone:
    case ErrorCode::unready:
      return exit_unavailable;
    case ErrorCode::refused:
      return exit_refused;
    case ErrorCode::interrupted:
      return exit_signal_base;
    case ErrorCode::internal:
      return exit_internal;
  }
  return exit_internal;
}

}  // namespace rlock::base
