#include "stores/zookeeper/names.hpp"

#include <array>
#include <cstdio>

#include "base/text/hash.hpp"
#include "base/text/number.hpp"
#include "base/text/text.hpp"
#include "net/url.hpp"

namespace rlock::zookeeper {

namespace {

constexpr std::uint32_t max_positive = 0x7fffffff;
constexpr std::string_view digits = "0123456789";

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

std::string shard_of(std::string_view node_name) {
  std::string shard;
  base::append_hex(shard, static_cast<unsigned char>(base::hash_of(node_name)));
  return shard;
}

std::string entry_prefix(const std::string& token, const lock::Mode& mode) {
  return node_name(token) + "-" + mode.encode() + "-";
}

std::string EntryName::encode() const {
  // As Java prints an int: behind the largest comes the least.
  std::array<char, 16> number{};
  const int size = std::snprintf(number.data(), number.size(), "%010d", static_cast<std::int32_t>(order));
  auto name = entry_prefix(token, mode) + std::string(number.data(), static_cast<std::size_t>(size));
  if (has_ended) return name + "h";
  return moves == 0 ? name : name + "r" + std::to_string(moves);
}

std::optional<EntryName> EntryName::decode(std::string_view name) {
  const auto whole = name;
  EntryName entry;
  entry.has_ended = name.ends_with('h');
  if (entry.has_ended) name.remove_suffix(1);
  auto end = name.find_last_not_of(digits);
  if (end != name.npos && name[end] == 'r' && !entry.has_ended) {
    const auto moves = base::parse_number<std::uint8_t>(name.substr(end + 1));
    if (!moves) return std::nullopt;
    entry.moves = *moves;
    name = name.substr(0, end);
    end = name.find_last_not_of(digits);
  }
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
  // A node that somebody has named otherwise would be looked for under another name.
  if (entry.encode() != whole) return std::nullopt;
  return entry;
}

ordered::Entry EntryName::entry(std::int32_t data_version) const {
  const auto version = static_cast<std::uint64_t>(static_cast<std::uint32_t>(data_version));
  return {order, token, mode, version << 9U | static_cast<unsigned>(moves) << 1U | (has_ended ? 1U : 0U)};
}

EntryName EntryName::of(const ordered::Entry& entry) {
  return {.order = static_cast<std::uint32_t>(entry.order),
          .token = entry.token,
          .mode = entry.mode,
          .moves = static_cast<std::uint8_t>(entry.version >> 1U),
          .has_ended = (entry.version & 1U) != 0};
}

std::int32_t data_version(const ordered::Entry& entry) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(entry.version >> 9U));
}

}  // namespace rlock::zookeeper
