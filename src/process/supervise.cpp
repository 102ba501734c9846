#include "process/supervise.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "base/text/text.hpp"
#include "process/ending_signal.hpp"
#include "process/family.hpp"
#include "process/nested.hpp"

namespace rlock::process {
namespace {

using namespace std::chrono_literals;
using base::BootClock;
using base::Instant;

constexpr auto short_job = 10ms;     // a job that ends within this needs no guard and no renewal
constexpr auto next_start = 50ms;    // between two tries to start what is missing
constexpr auto kill_round = 2ms;     // between two rounds of SIGKILL
constexpr auto stuck_round = 250ms;  // the same when a process is stuck
constexpr auto nested_look = 200ms;  // between two looks at the names of nested runs, which may not be nested after all
constexpr auto stuck_after = 1s;     // a process that lives on for so long after SIGKILL is stuck in the kernel

class Supervisor {
 public:
  Supervisor(const Spawned& child, Signals& signals, base::Permit& permit, const Supervision& how,
             std::optional<Guard> guard)
      : child_(child.pid),
        signals_(signals),
        permit_(permit),
        how_(how),
        guard_(std::move(guard)),
        family_({.root = {.pid = ::getpid()}, .marker = how.marker, .before = child.before, .adopts = child.adopts}),
        nested_(how.nested_marker) {
    signals_.catch_stop();
  }
  ~Supervisor() { signals_.let_stop(); }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  Ending run() {
    family_.leave_out(guard_pid());
    const auto first_look = std::min(BootClock::now() + short_job, permit_.stop_at());
    while (!may_end() && BootClock::now() < first_look) signals_.wait_event({}, first_look);
    while (!may_end()) {
      if (BootClock::now() >= start_at_) start_missing();
      if (!has_acted_ && (permit_.revoked() || BootClock::now() >= permit_.stop_at())) permit_ended();
      if (!stopping_ && BootClock::now() >= how_.run_until) time_out();
      if (stopping_ && permit_.loss() == base::Permit::Loss::taken) kill_at_ = std::min(kill_at_, BootClock::now());
      if (stopping_ && stop_all()) break;
      await_event();
    }
    if (permit_.revoked() && !has_acted_) {
      // The guard acted while we were frozen, or the loss and the end of the command came together.
      ending_.stopped = true;
      how_.ended_early(false);
    }
    if (!ending_.left_behind) permit_.end();
    ending_.guard = std::move(guard_);
    return std::move(ending_);
  }

 private:
  // Whether the command has ended and what it left running may go on beside the next holder. Once true, it stays true:
  // a nested run that begins now relies on our end.
  bool may_end() { return may_end_ = may_end_ || is_over(); }

  bool is_over() {
    reap();
    take_signals();
    if (!reaped_ || stopping_) return false;
    if (nothing_left(permit_.stop_at())) return true;
    if (const auto signal = ending_signal_.of(ending_.wait_status, reaped_at_, permit_.kill_after())) {
      stop(*signal, BootClock::now() + permit_.kill_after());
      return false;
    }
    if (how_.until == Until::all_ended || !nested_.none_left(guard_pid())) return false;
    family_.look(permit_.stop_at());
    ending_.going_on = static_cast<int>(family_.members().size());
    return true;
  }

  // Reaps every child that has ended: the command, orphans that we adopted, the guard.
  void reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid == child_) {
        reaped_ = true;
        reaped_at_ = BootClock::now();
        ending_.wait_status = status;
      } else if (guard_ && pid == guard_->pid()) {
        guard_->forget();
        guard_.reset();
        family_.leave_out(0);
        start_at_ = BootClock::now();
      }
    }
    childless_ = pid < 0;
  }

  // The guard, and what the caller starts in a longer job: what cannot be had now is tried again.
  void start_missing() {
    // If somebody keeps killing guards, the command goes on without one.
    const auto lacks_guard = [&] { return !guard_ && guards_ < Guard::max_started; };
    if (lacks_guard()) how_.alone([&] { start_guard(); });
    if (!has_begun_) has_begun_ = how_.outlived();
    start_at_ = lacks_guard() || !has_begun_ ? BootClock::now() + next_start : base::never;
  }

  void start_guard() {
    auto guard = Guard::start(permit_, family_.scope(), reaped_ ? 0 : child_, how_.guard);
    if (guard) {
      guard_ = std::move(*guard);
      family_.leave_out(guard_->pid());
      ++guards_;
    } else if (!std::exchange(told_of_guard_, true)) {
      base::log_error("no guard yet: " + guard.error().message + "; trying again");
    }
  }

  // A key of the terminal goes to the whole foreground group: to the command too, unless it has made a group of its
  // own, as timeout and setsid do. Of a hang-up the kernel tells a session leader alone.
  bool command_got(const ReceivedSignal& signal) const {
    if (!signal.from_terminal || ::getpgid(child_) != ::getpgrp()) return false;
    return signal.number != SIGHUP || ::getsid(0) != ::getpid();
  }

  void take_signals() {
    while (const auto signal = signals_.take()) {
      // A signal that came from the command is not sent back to it.
      if (signal->sender == child_) continue;
      ending_signal_.got(signal->number);
      if (!reaped_) {
        if (!command_got(*signal)) signal_child(signal->number);
      } else if (stopping_ || !EndingSignal::is_for_good(signal->number)) {
        family_.look(permit_.stop_at());
        say_refused(family_.signal_all_but(signal->number, child_));
      }  // else is_over() acts on it
    }
    if (signals_.take_stop()) {
      if (!stopping_) how_.stopping();
      signals_.stop();
    }
    if (signals_.take_continued()) how_.continued();
  }

  void permit_ended() {
    has_acted_ = true;
    const auto loss = permit_.loss();
    ending_.stopped = true;
    if (how_.guard.at_end == AtEnd::kill) {
      const auto now = BootClock::now();
      if (loss == base::Permit::Loss::taken) {
        stop(SIGKILL, now);
      } else {
        stop(how_.stop_signal, std::min(permit_.kill_at(), now + permit_.kill_after()));
      }
    }
    // The message comes last: nothing may delay the signal.
    how_.ended_early(loss > base::Permit::Loss::enforced);
  }

  void time_out() {
    ending_.timed_out = true;
    stop(how_.stop_signal, BootClock::now() + permit_.kill_after());
    how_.timed_out();
  }

  // Ends all that is left: `number` now, SIGKILL at kill_at.
  void stop(int number, Instant kill_at) {
    kill_at_ = stopping_ ? std::min(kill_at_, kill_at) : kill_at;
    stopping_ = true;
    // First list them all, then signal: what the command starts in order to clean up must not get the signal too. The
    // list takes at most half of --kill-after, since it may need a walk over /proc; processes that it did not reach get
    // SIGKILL only.
    const auto now = BootClock::now();
    family_.look(now + (kill_at_ - now) / 2);
    signal_child(number);
    signal_child(SIGCONT);
    say_refused(family_.signal_all_but(number, child_));
    family_.signal_all_but(SIGCONT, child_);
  }

  pid_t guard_pid() const { return guard_ ? guard_->pid() : 0; }

  // Needs no /proc: until the command is reaped no other process can have its pid.
  void signal_child(int number) {
    if (reaped_ || ::kill(child_, number) == 0 || errno != EPERM) return;
    say_refused(read_process(child_).value_or(Process{.pid = child_}));
  }

  // Once: whoever sends a signal, or has lost the lock, learns at once whom that does not reach.
  void say_refused(const std::optional<Process>& refused) {
    if (!refused || std::exchange(is_refused_, true)) return;
    base::log_error("cannot signal process " + std::to_string(refused->pid) +
                    (refused->name.empty() ? "" : " (" + base::printable(refused->name) + ")") +
                    ": it runs as another user; " +
                    (has_acted_ ? "it goes on without the lock" : "the lock is held until it ends"));
  }

  // While stopping_. true when nothing is left, or nothing more can be done.
  bool stop_all() {
    if (nothing_left(std::max(kill_at_, BootClock::now() + kill_round))) return true;
    if (BootClock::now() < kill_at_) return false;
    if (stuck_at_ == Instant{}) {
      stuck_at_ = BootClock::now() + stuck_after;
      // Known processes first; the search for the rest takes longer.
      signal_child(SIGKILL);
      family_.signal(SIGKILL);
    }
    if (has_acted_) permit_.disarm();
    const auto looked = family_.look(stuck_at_);
    say_refused(family_.signal(SIGKILL));
    if (BootClock::now() < stuck_at_) return false;
    const char* cannot =
        "what the command has started cannot be killed: it runs as another user, or is stuck in the kernel";
    if (!has_acted_ && looked != Looked::blind) {
      // We still hold the lock, and must not release it while that process runs.
      if (!std::exchange(is_stuck_, true)) base::log_error(std::string(cannot) + "; holding the lock until it ends");
      return false;
    }
    ending_.left_behind = true;
    base::log_error(looked == Looked::blind
                        ? "what the command has started may go on: no descriptor or no /proc to look for it"
                        : cannot);
    return true;
  }

  // Orphans are our children, and waitpid has just reaped the dead ones.
  bool nothing_left(Instant until) {
    if (!reaped_) return false;
    if (childless_ && family_.scope().adopts) return true;
    if (const auto none = family_.is_childless()) return *none;
    return family_.finds_nobody(until);
  }

  void await_event() {
    const auto now = BootClock::now();
    auto at = has_acted_ ? base::never : permit_.stop_at();
    if (!stopping_) at = std::min(at, how_.run_until);
    if (stopping_) at = std::min(at, std::max(kill_at_, now + (is_stuck_ ? stuck_round : kill_round)));
    auto fds = nested_.fds();
    // Nobody tells us of the end of orphans that we could not adopt.
    if (!fds.empty() || (reaped_ && !family_.scope().adopts)) at = std::min(at, now + nested_look);
    at = std::min(at, start_at_);
    const auto wake = fds.size();
    fds.push_back({permit_.wake_fd(), POLLIN, 0});
    for (const int outer : how_.outer_fds) fds.push_back({permit_.revoked() ? -1 : outer, POLLIN, 0});
    signals_.wait_event(fds, at);
    if (fds[wake].revents != 0) permit_.heard();
    // The holder is dead, and its guard may be dead too: nobody renews, and another holder may start at any moment.
    const auto outers = std::span(fds).subspan(wake + 1);
    if (std::ranges::any_of(outers, [](const pollfd& fd) { return fd.revents != 0; })) {
      permit_.revoke(base::Permit::Loss::taken);
    }
  }

  pid_t child_;
  Signals& signals_;
  base::Permit& permit_;
  const Supervision& how_;
  std::optional<Guard> guard_;
  int guards_ = 0;
  Family family_;
  EndingSignal ending_signal_;
  NestedRuns nested_;
  Ending ending_;
  Instant start_at_{};  // when to start what is missing
  Instant kill_at_{};
  Instant stuck_at_{};  // set with the first SIGKILL
  Instant reaped_at_{};
  bool reaped_ = false;
  bool may_end_ = false;
  bool childless_ = false;  // waitpid said so, when last asked
  bool has_begun_ = false;  // all that outlived() starts
  bool told_of_guard_ = false;
  bool has_acted_ = false;   // the permit's end has been acted on
  bool stopping_ = false;    // everything below us has to go
  bool is_stuck_ = false;    // and something cannot be killed
  bool is_refused_ = false;  // something may not be signalled
};

}  // namespace

Ending supervise(const Spawned& child, Signals& signals, base::Permit& permit, const Supervision& how,
                 std::optional<Guard> guard) {
  return Supervisor(child, signals, permit, how, std::move(guard)).run();
}

}  // namespace rlock::process
