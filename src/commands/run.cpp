#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/duration.hpp"
#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "base/permit.hpp"
#include "base/text.hpp"
#include "base/token.hpp"
#include "commands/common.hpp"
#include "commands/environment.hpp"
#include "commands/farewell.hpp"
#include "commands/late_release.hpp"
#include "commands/reentry.hpp"
#include "commands/server.hpp"
#include "commands/verbs.hpp"
#include "lock/renewal.hpp"
#include "process/descendants.hpp"
#include "process/spawn.hpp"
#include "process/supervise.hpp"
#include "process/terminal.hpp"
#include "process/tripwire.hpp"

namespace rlock::commands {

using namespace std::chrono_literals;
using base::ErrorCode;
using base::Result;

namespace {

// How long a release may delay the end of rlock once the command has ended; after that the guard goes on trying.
constexpr base::Duration release_limit = 2s;

class Run {
 public:
  Run(const Options& options, Place place, lock::LeaseTerms terms)
      : options_(options),
        place_(std::move(place)),
        backend_(open()),
        terms_(terms),
        request_{place_.names, {}, terms.ttl, {}, options.grace, options.replicas},
        farewell_(options) {}

  int operator()() {
    auto held = Reentry(options_, *backend_, request_, signals_)();
    if (held && *held && (options_.hold > 0s || options_.once > 0s)) {
      base::log_debug("--hold and --once are for who acquires " + options_.key + ", and this run is inside another");
    }
    if (held && *held && (*held)->outer) backend_ = open();  // an idle connection would use up one of the server's
    if (held && !*held) held = acquire();
    if (!held) return report(held.error(), options_, &signals_);
    if (done_) return report_done(options_, *done_);
    if (!*held) return report_busy(options_, met_, *backend_);
    return run_under(**held);
  }

 private:
  Result<std::optional<HeldLease>> acquire() {
    const auto wait = patience(options_);
    if (std::getenv("RLOCK_TOKEN") != nullptr && wait != base::Duration(0)) {
      // Below a run of another key, which may wait for us: ask once before waiting.
      auto held = acquire(base::Duration(0));
      if (!held || *held || done_) return held;
      tell_of_a_run_above();
    }
    return acquire(wait);
  }

  void tell_of_a_run_above() const {
    const auto* holder = met_ && met_->holder ? &met_->holder->who : nullptr;
    if (holder == nullptr || holder->host != lock::Who::describe(::getpid(), "").host) return;
    if (!process::OuterRun::find(holder->pid)) return;
    base::log_note("waiting for " + options_.key + ", which is held by a run around this one (pid " +
                   std::to_string(holder->pid) + "): if that waits for this one to end, neither will");
  }

  Result<std::optional<HeldLease>> acquire(std::optional<base::Duration> wait) {
    request_.token = RLOCK_TRY(base::random_token());
    std::string command;
    if (options_.show_command) {
      for (const auto& argument : options_.command) command += (command.empty() ? "" : " ") + argument;
    }
    request_.who = lock::Who::describe(::getpid(), command);
    auto request = request_;
    request.once = options_.once;
    lock::Acquisition acquisition(*backend_, std::move(request), terms_, signals_);
    auto acquired = acquisition.acquire(wait);
    met_ = acquisition.met();
    done_ = acquisition.done();
    auto lease = RLOCK_TRY(std::move(acquired));
    if (!lease) return std::nullopt;
    farewell_.acquired();
    return HeldLease{std::move(*lease), Origin::acquired};
  }

  int run_under(const HeldLease& held) {
    const auto& lease = held.lease;
    const auto deadline = held.outer ? base::never : terms_.deadline(lease.counts_from);
    auto permit = base::Permit::open(deadline, terms_.grace, terms_.kill_time);
    if (!permit) return not_started(held, permit.error());
    set_environment(options_, place_.servers, lease);
    if (held.origin == Origin::reentered) ::setenv("RLOCK_NESTED", held.nested.c_str(), 1);
    base::log_debug("holding " + options_.key + ", fence " + std::to_string(lease.fence));

    terminal_.emplace();
    // Armed before the last look at the clock: if rlock is frozen from here on, it is killed before the lease can end.
    std::optional<process::Tripwire> tripwire(std::in_place, permit->kill_at());
    const auto spawned = process::spawn(options_.command, signals_);
    if (const auto* child = std::get_if<process::Spawned>(&spawned)) {
      return watch_over(child->pid, held, *permit, tripwire);
    }
    tripwire.reset();
    permit->end();
    std::string why;
    auto status = base::exit_cannot_start + 0;
    if (std::holds_alternative<process::SignalFirst>(spawned)) {
      status = base::exit_signal_base + signals_.first_ending().value_or(0);
    } else if (const auto* failed = std::get_if<process::ExecFailed>(&spawned)) {
      why = "cannot execute '" + options_.command.front() + "': " + std::strerror(failed->error);
      status = failed->error == ENOENT ? base::exit_not_found : base::exit_not_executable;
    } else {
      why = std::string("cannot start a process: ") + std::strerror(std::get<process::NoProcess>(spawned).error);
    }
    farewell_.not_started(status);
    release(held, &*permit, std::nullopt);
    if (!why.empty()) base::log_error(why);
    return status;
  }

  int not_started(const HeldLease& held, const base::Error& error) {
    farewell_.not_started(base::exit_cannot_start);
    release(held, nullptr, std::nullopt);
    base::log_error(error.message);
    return base::exit_cannot_start;
  }

  int watch_over(pid_t child, const HeldLease& held, base::Permit& permit, std::optional<process::Tripwire>& tripwire) {
    const auto& lease = held.lease;
    lock::Renewal renewal(*backend_, request_, lease, terms_, permit);
    process::Supervision how;
    how.stop_signal = options_.stop_signal;
    how.guard = orders(held, permit);
    if (held.origin == Origin::acquired) how.nested_marker = marker(held);
    if (options_.tree) how.until = process::Until::all_ended;
    if (held.outer) how.outer_fd = held.outer->fd();
    how.outlived = [&] {
      tripwire.reset();  // there is a guard now, or none can be had
      base::log_without_blocking();
      if (options_.no_renew || held.outer) return;
      if (auto started = renewal.start(); !started) base::log_error("no renewal: " + started.error().message);
    };
    how.continued = [&] { renewal.check_now(); };
    how.ended_early = [&](bool revoked) {
      const std::string why = held.outer          ? "the outer run has ended"
                              : revoked           ? "the server says that this rlock no longer holds it"
                              : options_.no_renew ? "its lease ends, and --no-renew forbids to renew it"
                                                  : "it could not be renewed in time";
      const bool stops = options_.on_lost == OnLost::kill;
      base::log_error("lost " + options_.key + ": " + why +
                      (stops ? "; stopping the command" : "; the command goes on"));
    };

    auto ending = process::supervise(child, signals_, permit, how);
    if (ending.stopped && how.guard.at_end == process::AtEnd::kill) terminal_->restore();
    tripwire.reset();
    const bool in_time = !ending.stopped && base::BootClock::now() < permit.until();
    renewal.stop();
    if (ending.left_behind) return ending.stopped ? base::exit_lost : status_of(ending);
    if (ending.going_on > 0) {
      base::log_debug("the command has ended; " + std::to_string(ending.going_on) +
                      " of the processes that it started " + (ending.going_on == 1 ? "goes on" : "go on"));
    }
    ending.stopped || !in_time ? farewell_.lost() : farewell_.ended(ending.wait_status);
    const auto outcome = release(held, &permit, std::move(ending.guard));
    if (ending.stopped || !in_time || outcome == Outcome::lost) {
      if (!ending.stopped) base::log_error("lost " + options_.key + " while the command ran");
      return base::exit_lost;
    }
    return status_of(ending);
  }

  static int status_of(const process::Ending& ending) {
    if (WIFSIGNALED(ending.wait_status)) return base::exit_signal_base + WTERMSIG(ending.wait_status);
    return WEXITSTATUS(ending.wait_status);
  }

  static std::string marker(const HeldLease& held) { return marker_of(held.lease.token); }

  // release_until: how long the guard may go on trying to release the lock.
  process::Orders orders(const HeldLease& held, const base::Permit& permit, base::Instant release_until = base::never) {
    process::Orders orders;
    orders.at_end = options_.on_lost == OnLost::kill ? process::AtEnd::kill : process::AtEnd::nothing;
    // A re-entered token is also in the environment of processes that this run did not start.
    orders.marker = held.origin == Origin::acquired ? marker(held) : "RLOCK_NESTED=" + held.nested;
    // The guard of a nested run has the name of a nested run too: when that run is killed, the outer run must not
    // release before the guard has killed the command.
    if (held.origin == Origin::reentered) orders.name = process::NestedName::name;
    orders.title = "rlock-guard " + base::printable(options_.key);
    orders.orphaned = [&, release_until] {
      if (held.origin == Origin::acquired) release_from_guard(permit, release_until);
    };
    return orders;
  }

  enum class Outcome { released, lost, unknown };

  // Releases the lock and ends the guard. When the server cannot serve now, or one of several, a guard (started here if
  // there is none) goes on trying in the background, so that rlock can end and the next holder need not wait for the
  // end of the lease. permit: has ended; nullptr: no guard is started.
  Outcome release(const HeldLease& held, base::Permit* permit, std::optional<process::Guard> guard) {
    if (held.origin == Origin::reentered) {
      if (guard) guard->stop();
      return Outcome::unknown;
    }
    // A signal that came together with the end of the command must not prevent the release, and one that comes now must
    // not wait for long.
    base::GracePoller grace_poller(signals_);
    const auto released = base::until_served(base::BootClock::now() + release_limit, grace_poller, [&](base::Instant) {
      farewell_.write_to(request_);
      return backend_->release(request_, lock::Force::no, {base::BootClock::now() + release_try, grace_poller});
    });
    const bool later = released ? !released->is_everywhere
                                : base::may_pass(released.error()) || released.error().code == ErrorCode::interrupted;
    if (later && permit != nullptr) {
      // Short jobs may be many, and most servers are free.
      const auto until = released && !guard ? base::BootClock::now() + release_limit : base::never;
      // A guard that is there already does not know how the run ended.
      if (auto started = process::Guard::start(*permit, 0, orders(held, *permit, until))) {
        if (guard) guard->stop();
        guard = std::move(*started);
      }
    }
    if (!later && guard) guard->stop();
    if (!released && released.error().code == ErrorCode::gone) return Outcome::lost;
    if (!released) {
      base::log_note("could not release " + options_.key + ": " + released.error().message +
                     (later && guard ? "; still trying in the background" : "") + "; it is free in " +
                     base::format_duration(terms_.ttl) + " at the latest");
      return Outcome::unknown;
    }
    if (released->outcome == lock::ReleaseOutcome::released) return Outcome::released;
    return released->outcome == lock::ReleaseOutcome::unknown ? Outcome::unknown : Outcome::lost;
  }

  std::unique_ptr<lock::Backend> open() const {
    return open_backend(place_.servers, place_.names.lock, scripts_for(options_.compat), options_.connect_timeout, redis::Greet::together);
  }

  // Runs in the guard of a dead rlock, over a connection of its own, until the lease has ended on the server too.
  void release_from_guard(const base::Permit& permit, base::Instant limit) {
    const auto lease_ends = permit.until() + (terms_.ttl - terms_.usable());
    if (!farewell_.is_known()) {
      const bool in_time = !permit.revoked() && base::BootClock::now() < permit.until();
      in_time ? farewell_.killed() : farewell_.lost();
    }
    release_late(options_, place_, request_, std::min(lease_ends, limit), [&] { farewell_.write_to(request_); });
  }

  const Options& options_;
  process::Signals signals_;
  Place place_;
  std::unique_ptr<lock::Backend> backend_;
  lock::LeaseTerms terms_;
  lock::Request request_;
  Farewell farewell_;
  std::optional<lock::Busy> met_;
  std::optional<lock::Done> done_;
  std::optional<process::Terminal> terminal_;
};

}  // namespace

int run(const Options& options) {
  const auto renewing = options.no_renew ? lock::Renewing::no : lock::Renewing::yes;
  // Time to look twice. A longer lease has a second to kill in, and need not be measured for.
  const auto min_kill_time = options.ttl < 10s ? 2 * process::time_of_a_look() : std::chrono::nanoseconds::zero();
  auto terms = lock::LeaseTerms::make(options.ttl, options.kill_after, renewing, min_kill_time);
  if (!terms) return report(terms.error(), options);
  auto place = place_of(options);
  if (!place) return report(place.error(), options);
  return Run(options, std::move(*place), *terms)();
}

}  // namespace rlock::commands
