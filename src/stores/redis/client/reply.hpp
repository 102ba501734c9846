#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace rlock::redis {

/// One reply of a server, as a value.
struct Reply {
  enum class Kind { nil, integer, text, array, push, error };

  Kind kind = Kind::nil;
  std::int64_t integer = 0;  ///< of an array, of any meaning
  std::string text;          ///< bulk and simple strings, errors
  std::vector<Reply> items;

  bool is_error() const { return kind == Kind::error; }
  /// First word of an error: NOSCRIPT, OOM, ERR…; also where Redis 6.2 wraps the error of a command
  /// that a script made.
  std::string_view error_code() const;
};

/// What an error reply means for the caller. The message repeats only the known beginning of its text: servers and
/// proxies append the arguments of the command, which may be passwords or tokens (R33 of tests/PROOFS.md).
base::Error error_of(const Reply& reply, std::string_view server);
/// What an error means as the reply to AUTH with an empty password, sent for a user whose password nobody gave.
base::Error error_without_password(const Reply& reply, std::string_view server);

/// The failure (internal) of a reply that has not the shape that its command promises.
std::unexpected<base::Error> not_understood(std::string_view server);

}  // namespace rlock::redis
