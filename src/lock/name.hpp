#pragma once

#include <cstddef>
#include <string>

namespace rlock::lock {

constexpr std::size_t max_key = 1024;  ///< bytes of a KEY, which has no control characters either

/// Which lock.
struct Name {
  std::string key;       ///< KEY, for messages
  std::string wire_key;  ///< prefix and KEY: the lock's name in the store
};

}  // namespace rlock::lock
