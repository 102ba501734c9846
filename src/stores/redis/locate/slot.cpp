#include "stores/redis/locate/slot.hpp"

namespace rlock::redis {

std::string_view hash_tag(std::string_view key) {
  const auto open = key.find('{');
  if (open == std::string_view::npos) return key;
  const auto close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

// CRC-16/XMODEM, bit by bit: a table would make the binary larger for everybody.
std::uint16_t hash_slot(std::string_view key) {
  std::uint32_t crc = 0;
  for (const char c : hash_tag(key)) {
    crc ^= static_cast<std::uint32_t>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021 : 0);
    crc &= 0xffff;
  }
  return static_cast<std::uint16_t>(crc % slots);
}

}  // namespace rlock::redis
