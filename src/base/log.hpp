#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rlock::base {

enum class LogLevel { error, note, info, debug };

/// What a program may read of a message.
struct LogField;
using LogFields = std::vector<LogField>;
struct LogField {
  std::string_view name;  ///< of a duration it ends with its unit: waited_ms
  std::variant<std::int64_t, std::string, LogFields> value;
};
struct LogEvent {
  std::string_view name{};  ///< empty: a message like any other
  LogFields fields{};
};

/// Everything that rlock says to people goes to standard error through here, a line at a time, behind
/// `rlock: `. Bytes that could steer a terminal are escaped. A line waits for whoever reads standard error, unless a
/// signal asks rlock to end (but see log_without_blocking).
///
/// error: always. note: what a user wants to know unless he said -q. info: with -v, and in a log for programs unless he
/// said -q. debug: with -v, and the same again only after ten seconds without it.
void log(LogLevel level, std::string_view message, const LogEvent& event = {});
inline void log_error(std::string_view message, const LogEvent& event = {}) { log(LogLevel::error, message, event); }
inline void log_note(std::string_view message, const LogEvent& event = {}) { log(LogLevel::note, message, event); }
inline void log_info(std::string_view message, const LogEvent& event = {}) { log(LogLevel::info, message, event); }
inline void log_debug(std::string_view message) { log(LogLevel::debug, message); }
/// A note on how things are set up, true of each run: on a terminal, where somebody can look into it. Elsewhere it is
/// info: cron would mail it with each job, long after somebody has decided it.
void log_advice(std::string_view message);
/// What only a log for programs has room for: nothing without an encoder.
void log_for_programs(LogLevel level, std::string_view message, const LogEvent& event);

/// Whether a message of this level goes anywhere. Ask before making one: it may cost more than all else in a short job.
bool is_logged(LogLevel level);

/// From here on messages of this level and of worse ones go to standard error. A log for programs has info too, unless
/// `level` is LogLevel::error.
void set_log_level(LogLevel level);

/// Makes one line of a message, without its newline. From any thread.
using LogEncoder = std::string (*)(LogLevel level, std::string_view message, const LogEvent& event);
/// From here on standard error is a log for programs. nullptr: for people again.
void set_log_encoder(LogEncoder encoder);
bool is_log_for_programs();
/// A message as it would be written, with its newline, for a caller that writes it elsewhere.
std::string log_line(LogLevel level, std::string_view message, const LogEvent& event = {});

/// From here on what is said goes to syslog too (base/syslog.hpp).
void log_to_syslog();

/// From here on no line may block: one that standard error does not take at once is dropped, on a terminal after 20 ms.
/// The thread that enforces a deadline must not wait for whoever reads standard error (R5 of tests/PROOFS.md), nor must
/// one that waits for its turn, or has acquired the lock and not started the command yet. Once is enough; more do
/// nothing.
void log_without_blocking();

/// In a process that has closed its descriptors, standard error too: messages go to syslog alone, if they do.
void log_without_standard_error();

}  // namespace rlock::base
