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

  /// The options that ask for it, for messages.
  std::string option() const;

  /// MODE of scripts/common.lua; decode() undoes it. nullopt: not a mode.
  std::string encode() const;
  static std::optional<Mode> decode(std::string_view text);

  friend bool operator==(const Mode&, const Mode&) = default;
};

}  // namespace rlock::lock
