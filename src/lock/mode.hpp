#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rlock::lock {

/// How many may hold a lock at the same time.
struct Mode {
  enum class Kind {
    exclusive,  ///< one
    shared,     ///< all who ask for it shared
    slots       ///< so many as `slots` says; all users of the lock have to say the same number
  };
  Kind kind = Kind::exclusive;
  int slots = 0;

  bool is_for_several() const { return kind != Kind::exclusive; }
  /// Whether who holds under this mode may do what `asked` allows: a nested run asks for no more than the outer one
  /// has.
  bool covers(const Mode& asked) const { return *this == asked || (!is_for_several() && asked.kind == Kind::shared); }

  /// The option that asks for it, for messages.
  std::string option() const;
  /// "alone", which needs no option, or "with --slots 4".
  std::string how() const;

  /// MODE of scripts/common.lua; decode() undoes it. nullopt: not a mode.
  std::string encode() const;
  static std::optional<Mode> decode(std::string_view text);

  friend bool operator==(const Mode&, const Mode&) = default;
};

/// Why a lock that is in use so cannot be waited for by one who asks so (Backend::acquire), and what to do. One of them
/// has slots.
std::string clash(const std::string& key, const Mode& in_use, const Mode& asked);

}  // namespace rlock::lock
