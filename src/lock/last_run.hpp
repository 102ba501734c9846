#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/wait/clock.hpp"
#include "lock/who.hpp"

namespace rlock::lock {

/// How the last `run` of a lock ended, for status and --once. A server remembers it for a while; common.lua says how.
struct LastRun {
  int exit_status = 0;  ///< of rlock: 128 + n where signal n ended it
  int signal = 0;       ///< that one; 0: it ended by itself
  base::Duration took{};
  base::Duration once{};  ///< the --once of that run: for so long it is remembered at least
  Who who{};
  std::int64_t ended_us = 0;  ///< server microseconds; told by the server
  /// When a run last succeeded, this one or one before it, as far as that is remembered; likewise.
  std::optional<std::int64_t> succeeded_us{};

  /// For how long a store is to remember it, as stored() was given it; in what a Redis server keeps, this field is
  /// another figure.
  base::Duration remembered{};
  /// Whether a store that keeps what stored() gave for longer than that is to forget it now.
  bool is_forgotten(std::int64_t now_us) const {
    return remembered == base::Duration::zero() || now_us - ended_us >= std::chrono::microseconds(remembered).count();
  }

  std::int64_t started_us() const { return ended_us - std::chrono::microseconds(took).count(); }

  static LastRun ended_by(int signal) { return {.exit_status = 128 + signal, .signal = signal}; }

  /// As the script release takes it: "EXIT TOOK ONCE WHO", where EXIT is -n for signal n.
  std::string encode() const;
  /// The --once of what encode() gave.
  static base::Duration once_of(std::string_view encoded);
  /// What a store keeps of it, that has no scripts to write this: what encode() gave, with when it ended, for how long
  /// it is remembered, and, where it has failed, when one succeeded that `before` tells of.
  static std::string stored(std::string_view encoded, base::Duration remembered, std::int64_t ended_us,
                            const std::optional<LastRun>& before);
  /// Of what the server keeps; nullopt where there is none, or one of another version.
  static std::optional<LastRun> decode(std::string_view text);
};

}  // namespace rlock::lock
