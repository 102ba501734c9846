#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stores/ordered/ordered_store.hpp"

namespace rlock::zookeeper {

/// One name of a path: no slash, and nothing that ZooKeeper does not take. key_of() undoes it.
std::string node_name(std::string_view key);
std::optional<std::string> key_of(std::string_view node_name);

/// The node of an entry: "TOKEN-MODE-" and the number that ZooKeeper counts on in each queue. An `h` behind it: no
/// session keeps it, it is held (--hold) until a time that its record tells.
struct EntryName {
  std::uint32_t order = 0;
  std::string token;
  lock::Mode mode;
  bool is_kept = false;

  std::string encode() const;
  /// nullopt: not one of rlock's.
  static std::optional<EntryName> decode(std::string_view name);
};

/// What the name begins with, before its number.
std::string entry_prefix(const std::string& token, const lock::Mode& mode);

/// Entry::version of the data of a node, which tells a kept one from another.
constexpr std::uint64_t version_of(std::int32_t version, bool is_kept) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(version)) << 1U | (is_kept ? 1U : 0U);
}
constexpr bool is_kept(std::uint64_t version) { return (version & 1U) != 0; }
constexpr std::int32_t data_version(std::uint64_t version) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(version >> 1U));
}

/// The fence of what is kept, whose node is a new one, as it stands in Record::session.
std::string fence_text(std::uint64_t fence);
/// 0: it is not known.
std::uint64_t fence_in(std::string_view text);

}  // namespace rlock::zookeeper
