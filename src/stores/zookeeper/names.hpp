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

/// Last runs stay, and are of keys that are used once too: they are spread over 256 nodes, so that the names below one
/// fit into an answer, and whoever prunes them reads few. Which one of these nodes, "00" to "ff".
std::string shard_of(std::string_view node_name);

/// The node of an entry: "TOKEN-MODE-" and the number that ZooKeeper counts on in each queue. Behind it stands for an
/// entry that has moved to another session, `r` and how often, and for one that is held by no session (--hold), `h`.
struct EntryName {
  std::uint32_t order = 0;
  std::string token;
  lock::Mode mode;
  std::uint8_t moves = 0;
  bool has_ended = false;  ///< its command has, and --hold keeps the lock

  std::string encode() const;
  /// nullopt: not one of rlock's.
  static std::optional<EntryName> decode(std::string_view name);

  /// Of Entry, whose version tells a node that has moved from the one that it was.
  ordered::Entry entry(std::int32_t data_version) const;
  static EntryName of(const ordered::Entry& entry);
};
/// What Entry::version says of the data.
std::int32_t data_version(const ordered::Entry& entry);

/// What the name begins with, before its number.
std::string entry_prefix(const std::string& token, const lock::Mode& mode);

}  // namespace rlock::zookeeper
