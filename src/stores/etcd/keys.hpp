#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lock/mode.hpp"

namespace rlock::etcd {

/// All keys from `from` on and before `to`.
struct Range {
  std::string from;
  std::string to;
};

/// All keys that begin with this.
Range beginning_with(std::string prefix);

/// An entry's name within its queue.
struct EntryName {
  std::string token;
  lock::Mode mode;
};

/// Where things are, below PREFIX (a path without a slash at its end):
///
///     PREFIX/q/KEY/TOKEN-MODE  an entry: the record of who holds or waits; its create_revision is its place and fence
///     PREFIX/l/KEY             the last run
///     PREFIX/r/KEY/TOKEN       an entry of this token has left
///
/// with a wire key for KEY. Wire keys and tokens are escaped: they have no slash, and tokens no hyphen.
class Keys {
 public:
  explicit Keys(std::string prefix) : prefix_(std::move(prefix)) {}

  Range queue(std::string_view wire_key) const;
  std::string entry(std::string_view wire_key, std::string_view token, lock::Mode mode) const;
  /// Those of a token, in whatever mode.
  Range entries(std::string_view wire_key, std::string_view token) const;
  std::string last_run(std::string_view wire_key) const;
  std::string released(std::string_view wire_key, std::string_view token) const;

  /// Of all locks whose wire keys begin with this.
  Range queues(std::string_view wire_prefix) const;
  Range last_runs(std::string_view wire_prefix) const;
  /// The wire key of an entry or of a last run. nullopt: no rlock has written this.
  std::optional<std::string> wire_key(std::string_view key) const;
  /// Where the keys of the next lock may begin, behind those of the one that this key is of.
  std::string behind(std::string_view key) const;

 private:
  std::string below(char what, std::string_view wire_key) const;

  std::string prefix_;
};

/// Of the key of an entry. What no rlock has written blocks a lock as an exclusive one does: what a newer version may
/// mean by it is not known.
EntryName read_entry_name(std::string_view key);

}  // namespace rlock::etcd
