#include "commands/late_release.hpp"

#include "base/retry.hpp"

namespace rlock::commands {

void release_everywhere(lock::Holding& holding, const lock::Request& request, base::Instant until,
                        const std::function<void()>& before_each_try) {
  base::PlainPoller plain;
  (void)base::until_served(until, plain, [&](base::Instant end) {
    if (before_each_try) before_each_try();
    auto released = holding.release(request, lock::Force::no, {end, plain});
    if (!released || released->is_everywhere) return released;
    return base::Result<lock::Released>(base::fail(base::ErrorCode::unreachable, "a server has not answered"));
  });
}

}  // namespace rlock::commands
