#pragma once

#include <expected>
#include <string>
#include <utility>

namespace rlock::base {

/// What went wrong, as far as callers must tell it apart. Busy and not-the-owner are values of the
/// calls that can meet them, not errors. Each code has its exit status in exit_status.hpp.
enum class ErrorCode {
  usage,          ///< the command line
  configuration,  ///< a configuration file, a directory, a server of the wrong kind
  unreachable,    ///< no answer: refused, broken, timed out; whether a request was carried out is unknown
  gone,           ///< the server has ended for good, and all that it knew with it
  unready,        ///< an answer, but the server cannot serve now: loading, out of memory, a replica
  refused,        ///< authentication, ACL
  interrupted,    ///< a signal arrived while waiting
  internal,       ///< a reply that makes no sense, a system call that must not fail
};

struct Error {
  ErrorCode code;
  std::string message;  ///< one line without a final newline; never holds a password or token
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

inline std::unexpected<Error> interrupted() { return fail(ErrorCode::interrupted, "interrupted"); }

/// fail() with the text of errno behind the message.
std::unexpected<Error> fail_errno(ErrorCode code, std::string message);

}  // namespace rlock::base

/// The value of a Result; where it holds an error, the function around it returns that error:
///
///     auto keys = RLOCK_TRY(list_locks(session));
///     RLOCK_TRY(connection.send(until, poller));
///
/// Write it as a statement of its own or as the whole initialiser: g++ does not destroy what else the same expression
/// has made when it returns from the middle of it. and_then, which needs no macro, is not in g++ 12.
#define RLOCK_TRY(...)                                                                  \
  __extension__({                                                                       \
    auto rlock_try_result = (__VA_ARGS__);                                              \
    if (!rlock_try_result) return std::unexpected(std::move(rlock_try_result).error()); \
    *std::move(rlock_try_result);                                                       \
  })
