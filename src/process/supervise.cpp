#include "process/supervise.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/boot_timer.hpp"
#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "process/descendants.hpp"
#include "process/nested.hpp"

namespace rlock::process {
namespace {

using namespace std::chrono_literals;
using base::BootClock;
using base::Instant;

// A job that ends within this needs no guard and no renewal.
constexpr auto short_job = 10ms;
// Between two rounds of SIGKILL.
constexpr auto kill_round = 2ms;
// The same when a process is stuck.
constexpr auto stuck_round = 250ms;
// Between two looks at the names of nested runs: a run may drop the name when it is not nested after all.
constexpr auto nested_look = 200ms;
// A process that lives on for so long after SIGKILL is stuck in the kernel.
constexpr auto stuck_after = 1s;

class Supervisor {
 public:
  Supervisor(pid_t child, Signals& signals, base::Permit& permit, const Supervision& how)
      : child_(child), signals_(signals), permit_(permit), how_(how), nested_(how.nested_marker) {}

  Ending run() {
    const auto first_look = std::min(BootClock::now() + short_job, permit_.stop_at());
    while (!may_end() && BootClock::now() < first_look) signals_.wait_event({}, first_look);
    if (!may_end()) {
      start_guard();
      how_.outlived();
    }
    while (!may_end()) {
      if (!told_ && (permit_.revoked() || BootClock::now() >= permit_.stop_at())) permit_ended();
      if (stopping_ && permit_.loss() == base::Permit::Loss::taken) kill_at_ = std::min(kill_at_, BootClock::now());
      if (stopping_ && stop_all()) break;
      await_event();
    }
    if (permit_.revoked() && !told_) {
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
  bool may_end() {
    if (!may_end_) may_end_ = is_over();
    return may_end_;
  }

  bool is_over() {
    reap();
    take_signals();
    if (!reaped_ || stopping_) return false;
    if (nothing_left(permit_.stop_at())) return true;
    if (const auto signal = what_ended_it()) {
      stop(*signal, BootClock::now() + permit_.grace());
      return false;
    }
    if (how_.until == Until::all_ended || !nested_.none_left(guard_pid())) return false;
    ending_.going_on = static_cast<int>(below(permit_.stop_at()).size());
    return true;
  }

  // Reaps every child that has ended: the command, orphans that we adopted, the guard.
  void reap() {
    int status = 0;
    while (true) {
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      childless_ = pid < 0;
      if (pid <= 0) break;
      if (pid == child_) {
        reaped_ = true;
        reaped_at_ = BootClock::now();
        ending_.wait_status = status;
      } else if (guard_ && pid == guard_->pid()) {
        guard_->forget();
        start_guard();
      }
    }
  }

  void start_guard() {
    if (guards_++ >= Guard::max_started) return;  // the command goes on without one
    auto guard = Guard::start(permit_, child_, how_.guard);
    if (guard) {
      guard_ = std::move(*guard);
    } else {
      base::log_error("no guard: " + guard.error().message);
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
      std::erase_if(asked_, [&](const Asked& asked) { return asked.number == signal->number; });
      asked_.push_back({signal->number, BootClock::now()});
      if (!reaped_) {
        if (!command_got(*signal)) ::kill(child_, signal->number);
      } else if (stopping_ || !is_for_good(signal->number)) {
        signal_all(below(permit_.stop_at()), signal->number, child_);
      }  // else what_ended_it acts on it
    }
    if (signals_.take_continued()) how_.continued();
  }

  static bool is_for_good(int number) {
    return number == SIGTERM || number == SIGHUP || number == SIGINT || number == SIGQUIT;
  }

  // The signal that ended the command, for the processes that it left; see supervise.hpp.
  std::optional<int> what_ended_it() const {
    const int status = ending_.wait_status;
    for (const auto& [number, at] : asked_) {
      if (WIFSIGNALED(status) && WTERMSIG(status) == number) return number;
      if (WIFEXITED(status) && WEXITSTATUS(status) == base::exit_signal_base + number) return number;
      // A hang-up may have been a word to a daemon, which ends for reasons of its own much later.
      const bool is_recent = at + permit_.grace() >= reaped_at_;
      if (is_for_good(number) && (number != SIGHUP || is_recent)) return number;
    }
    return std::nullopt;
  }

  void permit_ended() {
    told_ = true;
    const auto loss = permit_.loss();
    ending_.stopped = true;
    if (how_.guard.at_end == AtEnd::kill) {
      const auto now = BootClock::now();
      if (loss == base::Permit::Loss::taken) {
        stop(SIGKILL, now);
      } else {
        stop(how_.stop_signal, std::min(permit_.kill_at(), now + permit_.grace()));
      }
    }
    // The message comes last: nothing may delay the signal.
    how_.ended_early(loss > base::Permit::Loss::enforced);
  }

  // Ends all that is left: `number` now, SIGKILL at kill_at.
  void stop(int number, Instant kill_at) {
    kill_at_ = stopping_ ? std::min(kill_at_, kill_at) : kill_at;
    stopping_ = true;
    // First list them all, then signal: what the command starts in order to clean up must not get the signal too. The
    // list takes at most half of the grace, since it may need a walk over /proc; processes that it did not reach get
    // SIGKILL only.
    const auto now = BootClock::now();
    known_ = below(now + (kill_at_ - now) / 2);
    signal_child(number);
    signal_child(SIGCONT);
    signal_all(known_, number, child_);
    signal_all(known_, SIGCONT, child_);
  }

  std::vector<Process> below(Instant until) const {
    std::vector<Process> found;
    look_below(self(), guard_pid(), until, [&](const Process& process) { found.push_back(process); });
    return found;
  }

  static std::array<Process, 1> self() { return {read_process(::getpid()).value_or(Process{.pid = ::getpid()})}; }
  pid_t guard_pid() const { return guard_ ? guard_->pid() : 0; }

  // Until the command is reaped no other process can have its pid.
  void signal_child(int number) {
    if (!reaped_) ::kill(child_, number);
  }

  // While stopping_. true when nothing is left, or nothing more can be done.
  bool stop_all() {
    if (nothing_left(std::max(kill_at_, BootClock::now() + kill_round))) return true;
    if (BootClock::now() < kill_at_) return false;
    if (stuck_at_ == Instant{}) {
      stuck_at_ = BootClock::now() + stuck_after;
      // Known processes first; the search for the rest takes longer.
      signal_child(SIGKILL);
      for (const auto& process : known_) send_signal(process, SIGKILL);
    }
    const auto looked =
        look_below(self(), guard_pid(), stuck_at_, [](const Process& process) { send_signal(process, SIGKILL); });
    if (BootClock::now() < stuck_at_) return false;
    const char* cannot =
        "what the command has started cannot be killed: it runs as another user, or is stuck in the kernel";
    if (!told_ && looked != Looked::blind) {
      // We still hold the lock, and must not release it while that process runs.
      if (!std::exchange(is_stuck_, true)) base::log_error(std::string(cannot) + "; holding the lock until it ends");
      return false;
    }
    ending_.left_behind = true;
    base::log_error(looked == Looked::blind
                        ? "what the command has started may live on: no descriptor or no /proc to look for it"
                        : cannot);
    return true;
  }

  // Orphans are our children, and waitpid has just reaped the dead ones.
  bool nothing_left(Instant until) {
    if (!reaped_ || childless_) return reaped_;
    if (const auto none = has_no_child(guard_pid())) return *none;
    bool any = false;
    const auto looked = look_below(self(), guard_pid(), until, [&](const Process&) { any = true; });
    return !any && looked == Looked::complete;
  }

  void await_event() {
    const auto now = BootClock::now();
    auto at = told_ ? base::never : permit_.stop_at();
    if (stopping_) at = std::min(at, std::max(kill_at_, now + (is_stuck_ ? stuck_round : kill_round)));
    auto fds = nested_.fds();
    if (!fds.empty()) at = std::min(at, now + nested_look);
    timer_.set(at);
    fds.push_back({timer_.fd(), POLLIN, 0});
    const auto wake = fds.size();
    fds.push_back({permit_.wake_fd(), POLLIN, 0});
    for (const int outer : how_.outer_fds) fds.push_back({permit_.revoked() ? -1 : outer, POLLIN, 0});
    signals_.wait_event(fds, at);  // the bound again, in case there was no descriptor for a timer
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
  std::vector<Process> known_;  // below us when all had to go
  struct Asked {
    int number;
    Instant at;
  };
  std::vector<Asked> asked_;  // the last of each signal that asked us to end
  NestedRuns nested_;
  base::BootTimer timer_;
  Ending ending_;
  Instant kill_at_{};
  Instant stuck_at_{};  // set with the first SIGKILL
  Instant reaped_at_{};
  bool reaped_ = false;
  bool may_end_ = false;
  bool childless_ = false;  // waitpid said so, when last asked
  bool told_ = false;       // the permit's end has been acted on
  bool stopping_ = false;   // everything below us has to go
  bool is_stuck_ = false;   // and something cannot be killed
};

}  // namespace

Ending supervise(pid_t child, Signals& signals, base::Permit& permit, const Supervision& how) {
  return Supervisor(child, signals, permit, how).run();
}

}  // namespace rlock::process
