#include "commands/reentry.hpp"

#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <string_view>

#include "base/log.hpp"
#include "base/text/number.hpp"
#include "base/wait/retry.hpp"
#include "commands/report.hpp"
#include "commands/terms.hpp"

namespace rlock::commands {

using namespace std::chrono_literals;
using base::Result;

namespace {

// How often a nested run looks whether the outer one has reclaimed the lock.
constexpr base::Duration reclaim_pause = 20ms;

std::uint64_t number_of(std::string_view text) { return base::parse_number<std::uint64_t>(text).value_or(0); }

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// A line each, without the last end of line.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (const auto line : std::views::split(text, '\n')) lines.emplace_back(line.begin(), line.end());
  return lines;
}

}  // namespace

std::vector<HeldKey> held_around() {
  std::vector<HeldKey> held;
  // First: a shell below a run may have acquired another lock since.
  if (const auto token = variable("RLOCK_TOKEN"); !token.empty()) {
    held.push_back({variable("RLOCK_KEY"), token, number_of(variable("RLOCK_FENCE"))});
  }
  if (std::getenv("RLOCK_KEYS") == nullptr) return held;
  const auto keys = lines_of(variable("RLOCK_KEYS"));
  const auto tokens = lines_of(variable("RLOCK_TOKENS"));
  const auto fences = lines_of(variable("RLOCK_FENCES"));
  for (std::size_t i = 0; i < keys.size() && i < tokens.size() && i < fences.size(); ++i) {
    if (std::ranges::find(held, keys[i], &HeldKey::key) == held.end()) {
      held.push_back({keys[i], tokens[i], number_of(fences[i])});
    }
  }
  return held;
}

Result<std::optional<Reentry::Found>> Reentry::operator()() {
  const auto around = held_around();
  const auto known = std::ranges::find(around, request_.name.key, &HeldKey::key);
  if (known == around.end() || known->token.empty()) return std::nullopt;
  process::NestedName name;
  request_.token = known->token;
  const auto timeout = options_.nonblock ? base::Duration(0) : options_.connect_timeout;
  const auto limit = std::min(base::BootClock::now() + timeout, patience_.end);
  auto checked = RLOCK_TRY(check_until(limit));
  if (checked.holder == lock::Ownership::Holder::nobody) {
    if (const auto outer = process::OuterRun::find_by(known->token)) checked = RLOCK_TRY(await_reclaim(*outer));
  }
  if (checked.holder != lock::Ownership::Holder::us) return std::nullopt;
  if (!checked.mode.covers(request_.mode)) {
    return base::fail(base::ErrorCode::configuration, request_.name.key + " is held " + checked.mode.how() +
                                                          " around this run, which asks to hold it " +
                                                          request_.mode.how() +
                                                          ": waiting for that would never end; give both the same");
  }
  request_.mode = checked.mode;
  Found held{{known->token, checked.fence, {}}, std::nullopt};
  if (checked.record) request_.who = checked.record->who;  // a reclaimed lock keeps its holder's name
  if (checked.record) held.outer = process::OuterRun::find(checked.record->who.pid);
  // The outer run knows the fence of its lease. The servers may have no record left, and several servers, of which
  // some are missing, records of votes that were won later, with fences of their own.
  if (held.outer || checked.fence == 0) held.lease.fence = std::max(checked.fence, known->fence);
  if (held.outer) {
    const auto state = RLOCK_TRY(held.outer->state_by(last_look(), signals_));
    if (state != process::OuterRun::State::holds) return std::nullopt;
  } else {
    const auto renewed = RLOCK_TRY(base::until_served(limit, signals_, [&](base::Instant until) {
      return backend_.renew(request_, lock::Watch::no, {std::min(until, patience_.end), signals_});
    }));
    if (renewed.holder != lock::Ownership::Holder::us) return std::nullopt;
    held.lease.counts_from = renewed.counts_from;
  }
  name.stay();
  return held;
}

Result<lock::Ownership> Reentry::check_until(base::Instant limit) {
  return base::until_served(limit, signals_, [&](base::Instant until) {
    return backend_.check(request_, {std::min(until, patience_.end), signals_});
  });
}

// Nobody holds the lock that the run around this one held a moment ago. If the server has forgotten it, that run
// reclaims it at once. If this run acquired it, the outer one would lose it; if it queued, each would wait for the
// other. The time for this is bounded, since a run may go on without its lock (--on-lost warn).
Result<lock::Ownership> Reentry::await_reclaim(const process::OuterRun& outer) {
  base::log_debug(request_.name.key + " is held by nobody; waiting for the run around this one to reclaim it");
  const auto now = base::BootClock::now();
  const auto wait = std::min(patience_.give_up, now + options_.connect_timeout);
  const auto until = std::min(std::max<base::Instant>(wait, now + 1s), patience_.end);
  while (true) {
    auto checked = RLOCK_TRY(check_until(until));
    if (checked.holder != lock::Ownership::Holder::nobody || base::BootClock::now() >= until) return checked;
    const auto state = RLOCK_TRY(outer.state_by(until, signals_));
    if (state != process::OuterRun::State::holds) return checked;
    if (signals_.wait({}, base::BootClock::now() + reclaim_pause) == base::Readiness::interrupted) {
      return base::interrupted();
    }
  }
}

// Until when to wait for an outer run that is releasing, before this one queues.
base::Instant Reentry::last_look() const {
  return std::min(std::max<base::Instant>(patience_.give_up, base::BootClock::now() + 1s), patience_.end);
}

}  // namespace rlock::commands
