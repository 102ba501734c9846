#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// As Jute writes and reads them.
namespace rlock::zookeeper {

inline std::string number(std::int32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}
inline std::int32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return static_cast<std::int32_t>(value);
}
inline std::string text(const std::string& value) { return number(static_cast<std::int32_t>(value.size())) + value; }

}  // namespace rlock::zookeeper
