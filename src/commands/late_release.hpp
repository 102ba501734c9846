#pragma once

#include <functional>

#include "lock/backend.hpp"

namespace rlock::commands {

/// How long one try of a release may take: short enough for a second one on a new connection, and for a lock that is
/// free within a second after rlock was killed.
inline constexpr base::Duration release_try{900};

/// Releases the lock where nobody waits for that: asks until every server has answered, or until `until`.
void release_everywhere(lock::Holding& holding, const lock::Request& request, base::Instant until,
                        const std::function<void()>& before_each_try = {});

}  // namespace rlock::commands
