#pragma once

#include <string_view>

namespace rlock::base {

enum class LogLevel { error, note, debug };

/// Everything that rlock says to people goes to standard error through here, a line at a time, behind
/// `rlock: `. Bytes that could steer a terminal are escaped.
///
/// error: always. note: what a user wants to know unless he said -q. debug: with -v, and the same again only after ten
/// seconds.
void set_log_level(LogLevel level);

/// From here on no line may block: one that standard error does not take at once is dropped. The
/// thread that enforces a deadline must not wait for whoever reads standard error (R5 of tests/PROOFS.md).
void log_without_blocking();

void log(LogLevel level, std::string_view message);
inline void log_error(std::string_view message) { log(LogLevel::error, message); }
inline void log_note(std::string_view message) { log(LogLevel::note, message); }
inline void log_debug(std::string_view message) { log(LogLevel::debug, message); }

}  // namespace rlock::base
