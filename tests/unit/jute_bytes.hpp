#pragma once

#include <cstdint>
#include <string>

/// As Jute writes them.
namespace rlock::zookeeper {

inline std::string number(std::int32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}
inline std::string text(const std::string& value) { return number(static_cast<std::int32_t>(value.size())) + value; }

}  // namespace rlock::zookeeper
