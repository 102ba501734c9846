#pragma once

#include <functional>
#include <string>

#include "lock/holding.hpp"

namespace rlock::commands {

/// How long one try of a release may take: short enough for a second one on a new connection, and for a lock that is
/// free within a second after rlock was killed.
inline constexpr base::Duration release_try{900};

/// Leaves a process in the background (`rlock-release KEY`) that releases what a server may hold for a token that was
/// not acquired, and returns at once. release: runs there, and gets the instant until which to try. The lease ends by
/// itself after ttl. To be called while there are no other threads.
void release_in_background(const std::string& key, base::Duration ttl,
                           const std::function<void(base::Instant until)>& release);

/// Releases the lock where nobody waits for that: asks until every server has answered, or until `until`.
void release_everywhere(lock::Holding& holding, base::Instant until, const std::function<void()>& before_each_try = {});

}  // namespace rlock::commands
