#pragma once

#include "base/wait/clock.hpp"

/// A request may still arrive when whoever sent it has given up or is gone. What outlasts it:
namespace rlock::base {

/// The kernel goes on sending what a connection still had, closed or not, for no longer than this (TCP_USER_TIMEOUT).
inline constexpr Duration user_timeout{20'000};
/// A release leaves a tombstone for so long: until then a late acquire of the same token does nothing.
inline constexpr Duration tombstone_ttl{30'000};
/// A server that may yet get a late release or reclaim of a token has no vote of it for so long.
inline constexpr Duration left_alone_for{31'000};

static_assert(user_timeout < tombstone_ttl && tombstone_ttl < left_alone_for);

}  // namespace rlock::base
