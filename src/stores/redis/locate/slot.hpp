#pragma once

#include <cstdint>
#include <string_view>

namespace rlock::redis {

inline constexpr std::uint16_t slots = 16384;

/// What decides the slot of a key: the part between its first '{' and the first '}' behind that, unless it is empty or
/// not there; then all of the key.
std::string_view hash_tag(std::string_view key);

/// The slot of a Cluster in which a key stands.
std::uint16_t hash_slot(std::string_view key);

}  // namespace rlock::redis
