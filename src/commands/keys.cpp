#include "commands/keys.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/log.hpp"
#include "base/text/text.hpp"
#include "base/text/token.hpp"
#include "base/wait/retry.hpp"
#include "commands/background_release.hpp"
#include "commands/environment.hpp"
#include "commands/place.hpp"
#include "commands/report.hpp"
#include "commands/terms.hpp"
#include "show/messages.hpp"
#include "show/waiting.hpp"

namespace rlock::commands {

using namespace std::chrono_literals;
using base::Result;
using Outcome = lock::MultiLock::Outcome;

namespace {

// The server has just answered: if it does not do so again at once, rlock ends without it.
constexpr base::Duration max_question = 100ms;

}  // namespace

Keys::Keys(const Options& options, std::vector<lock::Name> names, std::unique_ptr<stores::Store> store,
           lock::LeaseTerms terms, process::Signals& signals)
    : options_(options),
      names_(std::move(names)),
      store_(std::move(store)),
      terms_(terms),
      signals_(signals),
      patience_(patience(options)),
      leases_(terms, [this](const lock::Name& one) { return open(one); }) {}

std::unique_ptr<lock::Backend> Keys::open(const lock::Name& name) const {
  return store_->open(name.wire_key, options_.connect_timeout, stores::Purpose::acquire);
}

lock::Request Keys::request_for(const lock::Name& name) const { return {name, {}, terms_.ttl, {}, options_.mode}; }

Result<Outcome> Keys::acquire_or_reenter() {
  RLOCK_TRY(reenter());
  if (has_own()) {
    const auto outcome = RLOCK_TRY(acquire());
    if (outcome != Outcome::held) return outcome;
  }
  if (is_nested_ && (options_.hold > 0s || options_.once > 0s)) {
    base::log_debug("--hold and --once do nothing in this run: it is inside another run that holds " + options_.key);
  }
  marker_ = has_own() ? leases_.token() : RLOCK_TRY(base::random_token());
  for (auto& key : held_) {
    if (!key.token.empty()) continue;
    key.token = leases_.token();
    key.fence = leases_.fence(key.key);
  }
  // What else is held around this run goes on being held.
  if (!is_nested_) return Outcome::held;
  for (auto& other : held_around()) {
    if (std::ranges::find(held_, other.key, &HeldKey::key) == held_.end()) held_.push_back(std::move(other));
  }
  return Outcome::held;
}

Result<void> Keys::reenter() {
  std::string command;
  if (options_.show_command) {
    for (const auto& argument : options_.command) command += (command.empty() ? "" : " ") + base::shell_word(argument);
  }
  for (const auto& name : names_) {
    auto request = request_for(name);
    auto backend = open(name);
    auto found = RLOCK_TRY(Reentry(options_, *backend, request, patience_, signals_)());
    held_.push_back({name.key, found ? found->lease.token : "", found ? found->lease.fence : 0});
    if (!found) {
      request.who = lock::Who::describe(::getpid(), command, options_.label);
      if (name.key == options_.key) request.once = options_.once;
      leases_.add(std::move(request), std::move(backend));
      continue;
    }
    is_nested_ = true;
    if (found->outer) {
      outer_runs_.push_back(std::move(*found->outer));
    } else {
      leases_.add_held(std::move(request), std::move(backend), found->lease);
    }
  }
  return {};
}

Result<Outcome> Keys::acquire() {
  auto outcome = acquire_own();
  if (!outcome || *outcome != Outcome::held) release_left();
  return outcome;
}

void Keys::release_left() const {
  if (!leases_.is_left()) return;
  release_in_background(options_.key, terms_.ttl,
                        [this](base::Instant until) { release_late(until, [](lock::MultiLock&) {}); });
}

Result<Outcome> Keys::acquire_own() {
  const auto start = base::BootClock::now();
  auto outcome = Outcome::busy;
  if (std::getenv("RLOCK_TOKEN") != nullptr && !options_.nonblock) {
    // Below a run of another key, which may wait for us: ask once before waiting.
    const auto first = leases_.acquire(patience_.at_once(), signals_);
    if (!first) release_left();
    if (!first && !base::may_pass(first.error())) return first;
    outcome = first.value_or(Outcome::busy);
    if (first && outcome == Outcome::busy) report_run_above();
  }
  if (outcome == Outcome::busy) {
    show::Waiting waiting(options_.key, signals_);
    outcome = RLOCK_TRY(leases_.acquire(patience_, waiting, &waiting));
  }
  waited_ = base::BootClock::now() - start;
  if (outcome != Outcome::held || outer_runs_.empty()) return outcome;
  const auto outer_hold = outer_runs_hold();
  if (outer_hold && *outer_hold) return outcome;
  (void)leases_.release_acquired(std::min(base::BootClock::now() + options_.connect_timeout, patience_.end), signals_);
  if (!outer_hold) return std::unexpected(outer_hold.error());
  return Outcome::lost;
}

// Others may have been waited for meanwhile, for any time.
Result<bool> Keys::outer_runs_hold() const {
  for (const auto& outer : outer_runs_) {
    const auto until = std::min<base::Instant>(base::BootClock::now() + 1s, patience_.end);
    if (RLOCK_TRY(outer.state_by(until, signals_)) != process::OuterRun::State::holds) return false;
  }
  return true;
}

void Keys::report_run_above() const {
  const auto& met = leases_.met();
  const auto* holder = met && met->holder ? &met->holder->who : nullptr;
  if (holder == nullptr || holder->host != lock::Who::describe(::getpid(), "", "").host) return;
  if (!process::OuterRun::find(holder->pid)) return;
  base::log_note("waiting for " + leases_.busy_key() + ", which is held by a run around this one (pid " +
                 std::to_string(holder->pid) + "): if that waits for this one to end, neither will");
}

int Keys::report_busy() const {
  return commands::report_busy(options_, leases_.busy_key(), leases_.met(), leases_.name());
}

bool Keys::outer_run_has_ended() const {
  return std::ranges::any_of(outer_runs_, [](const auto& outer) { return base::is_readable(outer.fd()); });
}

const std::string& Keys::lost_key() const {
  if (!leases_.empty() && !outer_run_has_ended()) return leases_.concerned_key();
  const auto held = std::ranges::find_if(held_, [&](const HeldKey& key) { return key.token != leases_.token(); });
  return held == held_.end() ? options_.key : held->key;
}

base::Instant Keys::deadline() const {
  return leases_.empty() ? base::never : terms_.deadline(leases_.lease().counts_from);
}

void Keys::set_environment() const {
  commands::set_environment(options_, store_->urls(), held_);
  if (!has_own()) ::setenv("RLOCK_NESTED", marker_.c_str(), 1);
}

void Keys::report_acquired() const {
  if (!base::is_logged(base::LogLevel::info)) return;
  for (const auto& key : std::span(held_).first(names_.size()))
    show::report_acquired(key.key, key.fence, waited_, terms_.ttl);
}

std::uint64_t Keys::fence(const std::string& key) const {
  const auto held = std::ranges::find(held_, key, &HeldKey::key);
  return held == held_.end() ? 0 : held->fence;
}

void Keys::report_released(std::chrono::nanoseconds held, const lock::LastRun& run) const {
  if (!base::is_logged(base::LogLevel::info)) return;
  for (const auto& key : held_) {
    if (key.token == leases_.token()) show::report_released(key.key, key.fence, held, &run);
  }
}

void Keys::report_taken() {
  base::PlainPoller plain;
  const auto lock = leases_.inspect_concerned({base::BootClock::now() + max_question, plain});
  if (lock) show::report_taken(leases_.concerned_key(), *lock);
}

void Keys::release_late(base::Instant until, const std::function<void(lock::MultiLock&)>& prepare) const {
  const auto leases = leases_.copy(
      [&](const lock::Name& name) { return store_->open(name.wire_key, release_try, stores::Purpose::held); });
  release_everywhere(*leases, until, [&] { prepare(*leases); });
}

}  // namespace rlock::commands
