#include "commands/background_release.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "base/text/text.hpp"
#include "base/wait/retry.hpp"
#include "process/background.hpp"

namespace rlock::commands {

namespace {

// Longer than anything is under way. What comes from cron once a minute must not leave more and more processes behind
// while a server hangs.
constexpr base::Duration max_time{60'000};

}  // namespace

void release_in_background(const std::string& key, base::Duration ttl,
                           const std::function<void(base::Instant until)>& release) {
  const auto until = base::BootClock::now() + std::min(ttl, max_time);
  const auto begun = process::start_in_background({.name = "rlock-release",
                                                   .title = "rlock-release " + base::printable(key),
                                                   .left_open = {},
                                                   .begin = [] { return base::Result<void>(); },
                                                   .run = [&] { release(until); }});
  if (!begun) {
    base::log_note(key + " may stay held for " + base::age_text(ttl) +
                   ": cannot start a process to release it: " + begun.error().message);
  }
}

void release_everywhere(lock::Holding& holding, base::Instant until, const std::function<void()>& before_each_try) {
  base::PlainPoller plain;
  (void)base::until_served(until, plain, [&](base::Instant end) {
    if (before_each_try) before_each_try();
    auto released = holding.release({end, plain});
    if (!released || released->is_everywhere) return released;
    return base::Result<lock::Released>(base::fail(base::ErrorCode::unreachable, "a server has not answered"));
  });
}

}  // namespace rlock::commands
