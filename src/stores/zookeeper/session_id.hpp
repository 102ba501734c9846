#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/duration.hpp"

namespace rlock::zookeeper {

/// What another process needs to open a session again. Whoever knows the id could compute the password: it protects
/// nothing.
struct SessionId {
  std::int64_t id = 0;
  std::string password;
  base::Duration timeout{};  ///< as it was made; a new leader gives it so much, whatever it was opened again with
  std::uint64_t fence = 0;   ///< of an entry that has come from another session; 0: it has not

  /// "ID-PASSWORD-TIMEOUT-FENCE", in hexadecimal digits; decode() undoes it.
  std::string encode() const;
  static std::optional<SessionId> decode(std::string_view text);
};

}  // namespace rlock::zookeeper
