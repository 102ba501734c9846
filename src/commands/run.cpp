#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "base/permit.hpp"
#include "base/text/text.hpp"
#include "commands/background_release.hpp"
#include "commands/keys.hpp"
#include "commands/place.hpp"
#include "commands/report.hpp"
#include "commands/run_end.hpp"
#include "commands/run_messages.hpp"
#include "commands/terms.hpp"
#include "commands/verbs.hpp"
#include "lock/renewal.hpp"
#include "process/spawn.hpp"
#include "process/supervise.hpp"
#include "process/terminal.hpp"
#include "show/messages.hpp"

namespace rlock::commands {

using namespace std::chrono_literals;
using base::ErrorCode;

namespace {

// How long a release may delay the end of rlock once the command has ended; after that the guard goes on trying.
constexpr base::Duration release_limit = 2s;

int status_of(const process::Ending& ending) {
  if (ending.timed_out) return base::exit_timed_out;
  if (WIFSIGNALED(ending.wait_status)) return base::exit_signal_base + WTERMSIG(ending.wait_status);
  return WEXITSTATUS(ending.wait_status);
}

class Run {
 public:
  Run(const Options& options, std::vector<lock::Name> names, std::unique_ptr<stores::Store> store,
      lock::LeaseTerms terms)
      : options_(options),
        terms_(terms),
        keys_(options, std::move(names), std::move(store), terms, signals_),
        end_(options) {}

  int operator()() {
    const auto start = base::BootClock::now();
    const auto outcome = keys_.acquire_or_reenter();
    if (!outcome) return report(outcome.error(), options_, &signals_, start);
    switch (*outcome) {
      case lock::MultiLock::Outcome::busy:
        return keys_.report_busy();
      case lock::MultiLock::Outcome::done:
        return report_done(options_, *keys_.leases().done());
      case lock::MultiLock::Outcome::lost:
        show::Lost::while_waiting(keys_.lost_key(), base::exit_lost).report();
        return base::exit_lost;
      case lock::MultiLock::Outcome::held:
        break;
    }
    end_.acquired();
    return run_command();
  }

 private:
  int run_command() {
    auto permit = base::Permit::open(keys_.deadline(), terms_.kill_after, terms_.kill_time);
    if (!permit) return not_started(base::exit_cannot_start, permit.error().message);
    permit_.emplace(std::move(*permit));
    keys_.set_environment();
    keys_.report_acquired();

    terminal_.emplace();
    std::optional<process::Guard> guard;
    if (const auto why = arm(guard)) return not_started(base::exit_cannot_start, why->message);
    const auto spawned = process::spawn(options_.command, signals_, permit_->stop_at());
    if (const auto* child = std::get_if<process::Spawned>(&spawned)) return watch_over(*child, std::move(guard));
    if (guard) guard->stop();
    permit_->end();
    if (std::holds_alternative<process::SignalFirst>(spawned)) {
      return not_started(base::exit_signal_base + signals_.first_ending().value_or(0));
    }
    if (std::holds_alternative<process::TooLate>(spawned)) return not_started(base::exit_lost);
    if (const auto* failed = std::get_if<process::ExecFailed>(&spawned)) {
      return not_started(failed->error == ENOENT ? base::exit_not_found : base::exit_not_executable,
                         cannot_execute(options_.command, failed->error));
    }
    const int error = std::get<process::NoProcess>(spawned).error;
    return not_started(base::exit_cannot_start, std::string("cannot start a process: ") + std::strerror(error));
  }

  int not_started(int status, const std::string& why = "") {
    end_.not_started(status);
    release(std::nullopt);
    if (status == base::exit_lost) messages_.lost("its lease ends already", "the command was not started").report();
    if (!why.empty()) messages_.not_started(why, status);
    return status;
  }

  // The kernel ends rlock at the end of the lease, and the command with it, whatever stands still by then: armed before
  // the last look at the clock, in spawn. Where it cannot, a guard comes before the command. The error: neither can be
  // had.
  std::optional<base::Error> arm(std::optional<process::Guard>& guard) {
    if (options_.on_lost != OnLost::kill || keys_.leases().empty()) return std::nullopt;
    const auto self = keys_.leases().request().who.pid;
    const auto armed = permit_->arm(self);
    if (armed) return std::nullopt;
    auto started =
        process::Guard::start(*permit_, {.marker = keys_.marker(), .before = process::children_so_far()}, 0, task());
    if (!started) return started.error();
    guard = std::move(*started);
    base::log(self == 1 ? base::LogLevel::info : base::LogLevel::note,
              "no kernel timer backs up the guard: " + armed.error().message);
    return std::nullopt;
  }

  int watch_over(const process::Spawned& child, std::optional<process::Guard> guard) {
    process::Supervision how;
    how.stop_signal = options_.stop_signal;
    // A re-entered token is also in the environment of processes that this run did not start.
    how.marker = keys_.marker();
    how.guard = task();
    if (keys_.has_own()) how.nested_marker = keys_.marker();
    if (options_.tree) how.until = process::Until::all_ended;
    for (const auto& outer : keys_.outer_runs()) how.outer_fds.push_back(outer.fd());
    how.outlived = [&] {
      base::log_without_blocking();
      return options_.no_renew || keys_.leases().empty() || start_renewal();
    };
    how.alone = [&](const std::function<void()>& act) {
      if (renewal_) return renewal_->while_asleep(act);
      act();
      return true;
    };
    how.stopping = [&] { messages_.stopping(permit_->kill_at()); };
    how.continued = [&] {
      if (renewal_) renewal_->check_now();
    };
    how.ended_early = [&](bool revoked) {
      const std::string why = keys_.outer_run_has_ended() ? "the outer run has ended"
                              : revoked                   ? "the server says that this rlock no longer holds it"
                              : options_.no_renew         ? "its lease ends, and --no-renew forbids renewing it"
                                                          : "it could not be renewed in time";
      const bool stops = options_.on_lost == OnLost::kill;
      messages_.lost(why, stops ? "stopping the command" : "the command goes on (--on-lost warn)").report();
    };

    if (options_.timeout > 0s) how.run_until = base::BootClock::now() + options_.timeout;
    how.timed_out = [&] { messages_.timed_out(); };

    auto ending = process::supervise(child, signals_, *permit_, how, std::move(guard));
    const bool is_killed = ending.stopped ? how.guard.at_end == process::AtEnd::kill : ending.timed_out;
    if (is_killed) terminal_->restore();
    const bool in_time = !ending.stopped && base::BootClock::now() < permit_->until();
    if (renewal_) renewal_->stop();
    if (ending.left_behind) return ending.stopped ? base::exit_lost : status_of(ending);
    messages_.going_on(ending.going_on);
    if (ending.stopped || !in_time) {
      end_.lost();
    } else if (ending.timed_out) {
      end_.timed_out();
    } else {
      end_.ended(ending.wait_status);
    }
    const auto outcome = release(std::move(ending.guard));
    const bool is_lost = outcome == Outcome::lost || outcome == Outcome::taken;
    if (ending.stopped || !in_time || is_lost) {
      if (!ending.stopped) messages_.lost("it was lost while the command ran", "check what that did").report();
      if (outcome == Outcome::taken) keys_.report_taken();
      return base::exit_lost;
    }
    return status_of(ending);
  }

  bool start_renewal() {
    auto& leases = keys_.leases();
    const bool is_first = !std::exchange(tried_to_renew_, true);
    renewal_.emplace(leases, leases.lease(), terms_, *permit_);
    const auto started = renewal_->start();
    if (started) return true;
    renewal_.reset();
    if (is_first) messages_.no_renewal(started.error(), terms_.ttl);
    return false;
  }

  // release_until: how long the guard may go on trying to release what is held.
  process::GuardTask task(base::Instant release_until = base::never) {
    process::GuardTask task;
    task.at_end = options_.on_lost == OnLost::kill ? process::AtEnd::kill : process::AtEnd::nothing;
    // The guard of a nested run has the name of a nested run too: when that run is killed, the outer run must not
    // release before the guard has killed the command.
    if (keys_.is_nested()) task.name = process::NestedName::name;
    task.title = "rlock-guard " + base::printable(options_.key);
    for (const auto& key : options_.with) task.title += " " + base::printable(key);
    task.lost = [this] {
      return messages_.lost("rlock was frozen until its lease ended", "its guard has killed the command").for_syslog();
    };
    task.orphaned = [this, release_until] {
      if (!keys_.has_own()) return;
      // Until the lease has ended on the server too.
      const auto lease_ends = terms_.ends_on_server(permit_->until());
      if (!end_.is_known()) {
        const bool in_time = !permit_->revoked() && base::BootClock::now() < permit_->until();
        in_time ? end_.killed() : end_.lost();
        messages_.killed();
      }
      keys_.release_late(std::min(lease_ends, release_until), [&](auto& leases) { report_end(leases); });
    };
    return task;
  }

  /// taken: lost, and another has it.
  enum class Outcome { released, lost, taken, unknown };

  // Releases the lock and ends the guard. When the server cannot serve now, or one of several, a guard (started here if
  // there is none) goes on trying in the background, so that rlock can end and the next holder need not wait for the
  // end of the lease. The permit has ended; without one, no guard is started.
  Outcome release(std::optional<process::Guard> guard) {
    if (!keys_.has_own()) {
      if (guard) guard->stop();
      return Outcome::unknown;
    }
    // A signal that came together with the end of the command must not prevent the release, and one that comes now must
    // not wait for long.
    base::ReleasePoller release_poller(signals_);
    const auto released =
        base::until_served(base::BootClock::now() + release_limit, release_poller, [&](base::Instant) {
          auto& leases = keys_.leases();
          report_end(leases);
          return leases.release({base::BootClock::now() + release_try, release_poller});
        });
    renewal_.reset();  // its thread has ended before a guard is forked
    const bool later = released ? !released->is_everywhere
                                : base::may_pass(released.error()) || released.error().code == ErrorCode::interrupted;
    if (later && permit_) {
      // Short jobs may be many, and most servers are free.
      const auto until = released && !guard ? base::BootClock::now() + release_limit : base::never;
      // A guard that is there already does not know how the run ended.
      if (auto started = process::Guard::start(*permit_, {}, 0, task(until))) {
        if (guard) guard->stop();
        guard = std::move(*started);
      }
    }
    if (!later && guard) guard->stop();
    if (!released && released.error().code == ErrorCode::gone) return Outcome::lost;
    if (!released) {
      messages_.release_failing(keys_.leases().concerned_key(), released.error(), terms_.ttl,
                                later && guard ? "; still trying in the background" : "");
      return Outcome::unknown;
    }
    if (released->outcome == lock::ReleaseOutcome::released) {
      keys_.report_released(end_.held_for(), end_.run());
      return Outcome::released;
    }
    // Beside holders that a shared lock has anyway, there is nobody to name.
    const bool is_taken = released->outcome == lock::ReleaseOutcome::not_owner && !options_.mode.is_for_several();
    if (is_taken) return Outcome::taken;
    return released->outcome == lock::ReleaseOutcome::unknown ? Outcome::unknown : Outcome::lost;
  }

  // Before each try to release.
  void report_end(lock::MultiLock& leases) const {
    leases.release_with([&](const lock::Who& holder) { return end_.release_options(holder); });
  }

  const Options& options_;
  process::Signals signals_;
  lock::LeaseTerms terms_;
  Keys keys_;
  RunEnd end_;
  RunMessages messages_{options_, keys_, end_};
  std::optional<base::Permit> permit_;
  std::optional<lock::Renewal> renewal_;
  bool tried_to_renew_ = false;
  std::optional<process::Terminal> terminal_;
};

}  // namespace

int run(const Options& options) {
  const auto terms = lease_terms(options, options.no_renew ? lock::Renewing::no : lock::Renewing::yes);
  if (!terms) return report(terms.error(), options);
  auto names = all_lock_names(options);
  if (!names) return report(names.error(), options);
  auto store = open_store(options);
  if (!store) return report(store.error(), options);
  return Run(options, std::move(*names), std::move(*store), *terms)();
}

}  // namespace rlock::commands
