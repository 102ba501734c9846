#pragma once

#include <chrono>
#include <cstdint>

#include "base/text/bounds.hpp"

/// What the scripts and rlock have to agree on. The build (cmake/EmbedScripts.cmake) writes each line of this form into
/// the scripts: `watchers` as `local WATCHERS = 3`, a Duration `claim` as CLAIM_MS, a time in microseconds `far` as
/// FAR_US. Older releases run beside this one: a changed figure has to suit those that have the other.
namespace rlock::redis::constants {

/// So many of the first waiters watch the lock's key.
inline constexpr std::int64_t watchers = 3;
/// Once the queue has not moved for so long: one that moves fast has moved on before anybody looks.
inline constexpr base::Duration watch{500};
/// A hand-off that is not confirmed within this goes to the next.
inline constexpr base::Duration claim{1'000};
/// A hand-off to a waiter that polls has so long to be confirmed.
inline constexpr base::Duration claim_poll{3'000};
/// A hand-off of which no message could be sent has so long.
inline constexpr base::Duration unheard{9'000};
/// A subscriber without a heartbeat for so long is frozen or gone.
inline constexpr std::chrono::microseconds silent{20'000'000};
/// If nobody was heard for so long, the clock of the server has stepped.
inline constexpr std::chrono::microseconds clock_step{10'000'000};
/// So much later a waiter's heartbeat may be for each place ahead of it, and it still counts as heard,
inline constexpr std::chrono::microseconds far{20'000};
/// but no later than this.
inline constexpr std::chrono::microseconds max_far{100'000'000};
/// Numbers are exact up to here.
inline constexpr std::int64_t max_fence = 9'007'199'254'740'991;

static_assert(max_fence == base::max_counted);

}  // namespace rlock::redis::constants
