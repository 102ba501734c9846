#include "stores/zookeeper/names.hpp"

#include <array>
#include <cstdio>

#include "base/number.hpp"
#include "base/text.hpp"
#include "net/url.hpp"

namespace rlock::zookeeper {

namespace {

constexpr std::uint32_t max_positive = 0x7fffffff;

// All but printable ASCII, and what has a meaning.
std::string special_bytes() {
  std::string bytes = "/%";
  for (int c = 0; c < 256; ++c) {
    if (c < 0x20 || c >= 0x7f) bytes += static_cast<char>(c);
  }
  return bytes;
}

}  // namespace

std::string node_name(std::string_view key) {
  static const auto special = special_bytes();
  auto name = net::escape(key, special);
  // "." and ".." are no names.
  if (name.starts_with('.')) name.replace(0, 1, "%2e");
  return name;
}

std::optional<std::string> key_of(std::string_view node_name) { return net::unescape(node_name); }

std::string entry_prefix(const std::string& token, const lock::Mode& mode) {
  return node_name(token) + "-" + mode.encode() + "-";
}

std::string EntryName::encode() const {
  // As Java prints an int: behind the largest comes the least.
  std::array<char, 16> number{};
  const int size = std::snprintf(number.data(), number.size(), "%010d", static_cast<std::int32_t>(order));
  return entry_prefix(token, mode) + std::string(number.data(), static_cast<std::size_t>(size)) + (is_kept ? "h" : "");
}

std::optional<EntryName> EntryName::decode(std::string_view name) {
  EntryName entry;
  entry.is_kept = name.ends_with('h');
  if (entry.is_kept) name.remove_suffix(1);
  const auto end = name.find_last_not_of("0123456789");
  if (end == name.npos || name[end] != '-') return std::nullopt;
  const auto number = base::parse_number<std::uint32_t>(name.substr(end + 1), max_positive + 1U);
  name = name.substr(0, end);
  const bool is_negative = name.ends_with('-');
  if (is_negative) name.remove_suffix(1);
  const auto dash = name.rfind('-');
  if (!number || dash == name.npos) return std::nullopt;
  const auto token = key_of(name.substr(0, dash));
  const auto mode = lock::Mode::decode(name.substr(dash + 1));
  if (!token || !mode) return std::nullopt;
  entry.order = is_negative ? 0U - *number : *number;
  entry.token = *token;
  entry.mode = *mode;
  return entry;
}

std::string fence_text(std::uint64_t fence) { return "fence-" + std::to_string(fence); }

std::uint64_t fence_in(std::string_view text) {
  if (base::take_until(text, '-') != "fence") return 0;
  return base::parse_number<std::uint64_t>(text).value_or(0);
}

}  // namespace rlock::zookeeper
