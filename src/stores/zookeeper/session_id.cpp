#include "stores/zookeeper/session_id.hpp"

#include <charconv>
#include <limits>

#include "base/text/text.hpp"

namespace rlock::zookeeper {

using base::Duration;

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) base::append_hex(text, static_cast<unsigned char>(c));
  return text;
}

std::optional<std::string> bytes_of(std::string_view hex) {
  std::string bytes;
  for (; hex.size() >= 2; hex.remove_prefix(2)) {
    const auto high = hex_digits.find(hex[0]);
    const auto low = hex_digits.find(hex[1]);
    if (high == hex_digits.npos || low == hex_digits.npos) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return hex.empty() ? std::optional(bytes) : std::nullopt;
}

std::optional<std::uint64_t> hex_number(std::string_view text) {
  std::uint64_t value = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stopped, error] = std::from_chars(begin, end, value, 16);
  return error == std::errc{} && stopped == end ? std::optional(value) : std::nullopt;
}

std::string hex_of(std::uint64_t value) {
  std::string text;
  for (int shift = 56; shift >= 0; shift -= 8) base::append_hex(text, static_cast<unsigned char>(value >> shift));
  return text;
}

}  // namespace

std::string SessionId::encode() const {
  return hex_of(static_cast<std::uint64_t>(id)) + "-" + hex(password) + "-" +
         hex_of(static_cast<std::uint64_t>(timeout.count())) + "-" + hex_of(fence);
}

std::optional<SessionId> SessionId::decode(std::string_view text) {
  const auto id = hex_number(base::take_until(text, '-'));
  const auto password = bytes_of(base::take_until(text, '-'));
  const auto timeout = hex_number(base::take_until(text, '-'));
  const auto fence = hex_number(text);
  if (!id || *id == 0 || !password || !timeout || !fence || *timeout > std::numeric_limits<std::int32_t>::max()) {
    return std::nullopt;
  }
  return SessionId{static_cast<std::int64_t>(*id), *password, Duration(*timeout), *fence};
}

}  // namespace rlock::zookeeper
