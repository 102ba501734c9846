#include "commands/reentry.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/log.hpp"
#include "base/number.hpp"
#include "base/retry.hpp"
#include "base/token.hpp"
#include "commands/common.hpp"

namespace rlock::commands {

using namespace std::chrono_literals;
using base::Result;

namespace {

// How often a nested run looks whether the outer one has reclaimed the lock.
constexpr base::Duration reclaim_pause = 20ms;

std::uint64_t fence_of_environment() {
  const char* fence = std::getenv("RLOCK_FENCE");
  return fence != nullptr ? base::parse_number<std::uint64_t>(fence).value_or(0) : 0;
}

}  // namespace

std::string marker_of(const std::string& token) { return "RLOCK_TOKEN=" + token; }

Result<std::optional<HeldLease>> Reentry::operator()() {
  const char* key = std::getenv("RLOCK_KEY");
  const char* token = std::getenv("RLOCK_TOKEN");
  if (key == nullptr || token == nullptr || *token == '\0' || options_.key != key) return std::nullopt;
  process::NestedName name;
  request_.token = token;
  const auto limit = base::BootClock::now() + (options_.nonblock ? base::Duration(0) : options_.connect_timeout);
  auto checked = RLOCK_TRY(check_until(limit));
  if (checked.holder == lock::Standing::Holder::nobody) {
    if (const auto outer = process::OuterRun::find_by(marker_of(token))) checked = RLOCK_TRY(await_reclaim(*outer));
  }
  if (checked.holder != lock::Standing::Holder::us) return std::nullopt;
  HeldLease held{{token, checked.fence, {}}, Origin::reentered};
  held.nested = RLOCK_TRY(base::random_token());
  if (checked.record) request_.who = checked.record->who;  // of whom a reclaimed lock is said to be
  if (checked.record) held.outer = process::OuterRun::find(checked.record->who.pid);
  // The outer run knows the fence of its lease. The servers may have no record left, and several servers, of which
  // some are missing, records of votes that were won later, with fences of their own.
  if (held.outer || checked.fence == 0) held.lease.fence = std::max(checked.fence, fence_of_environment());
  if (held.outer) {
    const auto state = RLOCK_TRY(held.outer->settle(last_look(), signals_));
    if (state != process::OuterRun::State::holds) return std::nullopt;
  } else {
    const auto renewed = RLOCK_TRY(base::until_served(limit, signals_, [&](base::Instant until) {
      return backend_.renew(request_, lock::Watch::no, {until, signals_});
    }));
    if (renewed.holder != lock::Standing::Holder::us) return std::nullopt;
    held.lease.counts_from = renewed.counts_from;
  }
  name.keep();
  return held;
}

Result<lock::Standing> Reentry::check_until(base::Instant limit) {
  return base::until_served(limit, signals_,
                            [&](base::Instant until) { return backend_.check(request_, {until, signals_}); });
}

// Nobody holds the lock that the run around this one held a moment ago. If the server has forgotten it, that run
// takes it back at once. Acquired here, the outer one would lose it; queued for, each would wait for the other. The
// time for this is bounded, since a run may go on without its lock (--on-lost warn).
Result<lock::Standing> Reentry::await_reclaim(const process::OuterRun& outer) {
  base::log_debug(options_.key + " is held by nobody; waiting for the run around this one to reclaim it");
  const auto wait = std::min(patience(options_).value_or(options_.connect_timeout), options_.connect_timeout);
  const auto until = base::BootClock::now() + std::max<base::Duration>(wait, 1s);
  while (true) {
    auto checked = RLOCK_TRY(check_until(until));
    if (checked.holder != lock::Standing::Holder::nobody || base::BootClock::now() >= until) return checked;
    const auto state = RLOCK_TRY(outer.settle(until, signals_));
    if (state != process::OuterRun::State::holds) return checked;
    if (signals_.wait({}, base::BootClock::now() + reclaim_pause) == base::Readiness::interrupted) {
      return base::interrupted();
    }
  }
}

// Until when to wait for an outer run that is releasing, before this one queues.
base::Instant Reentry::last_look() const {
  const auto wait = patience(options_);
  return wait ? base::BootClock::now() + std::max<base::Duration>(*wait, 1s) : base::never;
}

}  // namespace rlock::commands
