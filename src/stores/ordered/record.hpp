#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/wait/clock.hpp"
#include "lock/who.hpp"

namespace rlock::ordered {

/// What an entry says of itself. Comes from other hosts.
struct Record {
  enum class State {
    waits,
    holds,
    ended  ///< its command has, and --hold keeps the lock
  };
  State state = State::waits;
  std::int64_t since_us = 0;  ///< when this state began, by the store's clock; 0: not known
  base::Duration ttl{};       ///< of its lease: what the entry may last without a renewal
  /// What another process needs to go on with the lease, where the store wants more than the token; without spaces.
  std::string session{};
  lock::Who who{};

  /// "1 STATE SINCE_US TTL_MS SESSION WHO", where SESSION is - for none; decode() undoes it.
  std::string encode() const;
  /// nullopt: one of another version, or not a record.
  static std::optional<Record> decode(std::string_view text);
};

}  // namespace rlock::ordered
