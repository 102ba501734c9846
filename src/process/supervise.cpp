#include "process/supervise.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/boot_timer.hpp"
#include "base/log.hpp"
#include "process/descendants.hpp"

namespace rlock::process {
namespace {

using namespace std::chrono_literals;
using base::BootClock;
using base::Instant;

// A job that ends within this needs no guard and no renewal.
constexpr auto short_job = 10ms;
// Between two rounds of SIGKILL, for the kernel to do it.
constexpr auto kill_round = 2ms;
// How long to wait for what SIGKILL does not end.
constexpr auto hopeless_after = 1s;

class Supervisor {
 public:
  Supervisor(pid_t child, Signals& signals, base::Permit& permit, const Supervision& how)
      : child_(child), signals_(signals), permit_(permit), how_(how) {}

  Ending run() {
    const auto first_look = std::min(BootClock::now() + short_job, permit_.stop_at());
    while (!child_ended() && BootClock::now() < first_look) {
      signals_.wait_event({}, first_look);
      forward();
    }
    if (!child_ended()) {
      start_guard();
      how_.outlived();
    }
    while (!child_ended()) {
      forward();
      if (!told_ && (permit_.revoked() || BootClock::now() >= permit_.stop_at())) permit_ended();
      if (ending_.stopped && stop_all()) break;
      await_event();
    }
    if (permit_.revoked() && !told_) {
      // The guard acted while we were frozen, or the news and the command's end came together.
      ending_.stopped = true;
      how_.ended_early(false);
    }
    if (!ending_.left_behind) permit_.end();
    ending_.guard = std::move(guard_);
    return std::move(ending_);
  }

 private:
  // Reaps whatever has ended: the command, orphans that became ours, the guard.
  bool child_ended() {
    int status = 0;
    while (true) {
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      childless_ = pid < 0;
      if (pid <= 0) break;
      if (pid == child_) {
        reaped_ = true;
        ending_.wait_status = status;
      } else if (guard_ && pid == guard_->pid()) {
        guard_->forget();
        start_guard();
      }
    }
    return reaped_ && !stopping_;
  }

  void start_guard() {
    // Whoever keeps killing it will not keep us busy: after these, the command goes on without.
    if (guards_++ >= 5) return;
    auto guard = Guard::start(permit_, child_, how_.guard);
    if (guard) {
      guard_ = std::move(*guard);
    } else {
      base::log_error("no guard: " + guard.error().message);
    }
  }

  void forward() {
    while (const auto signal = signals_.take()) {
      // From the terminal it went to the whole foreground group, the command included; and what the
      // command sends us it need not get back.
      if (signal->from_terminal || signal->sender == child_ || reaped_) continue;
      ::kill(child_, signal->number);
    }
    if (signals_.take_continued()) how_.continued();
  }

  void permit_ended() {
    told_ = true;
    // Past that time it may be the guard who revoked it.
    const bool revoked = permit_.revoked() && BootClock::now() < permit_.stop_at();
    ending_.stopped = true;
    if (how_.guard.at_end == AtEnd::kill) {
      stopping_ = true;
      kill_at_ = std::min(permit_.kill_at(), BootClock::now() + permit_.grace());
      // All first, then the signals: what the command starts to tidy up when told is to live. And not for the whole
      // grace: where a look costs a walk over /proc, those it did not reach get SIGKILL alone.
      look_below(self(), guard_pid(), BootClock::now() + (kill_at_ - BootClock::now()) / 2,
                 [&](const Process& process) { known_.push_back(process); });
      signal_child(how_.stop_signal);
      signal_child(SIGCONT);
      for (const auto& process : known_) {
        if (process.pid == child_) continue;
        send_signal(process, how_.stop_signal);
        send_signal(process, SIGCONT);
      }
    }
    // After the deed: nothing may come between the end of the permit and the signal.
    how_.ended_early(revoked);
  }

  static std::array<Process, 1> self() { return {read_process(::getpid()).value_or(Process{.pid = ::getpid()})}; }
  pid_t guard_pid() const { return guard_ ? guard_->pid() : 0; }

  // Ours until it is reaped: nobody else can have its pid.
  void signal_child(int number) {
    if (!reaped_) ::kill(child_, number);
  }

  // true when nothing is left, or nothing more can be done.
  bool stop_all() {
    if (!stopping_) return false;
    if (nothing_left()) return true;
    if (BootClock::now() < kill_at_) return false;
    if (hopeless_at_ == Instant{}) {
      hopeless_at_ = BootClock::now() + hopeless_after;
      // At once; to look for the rest comes after.
      signal_child(SIGKILL);
      for (const auto& process : known_) send_signal(process, SIGKILL);
    }
    const auto looked =
        look_below(self(), guard_pid(), hopeless_at_, [](const Process& process) { send_signal(process, SIGKILL); });
    if (BootClock::now() < hopeless_at_) return false;
    ending_.left_behind = true;
    base::log_error(looked == Looked::blind
                        ? "what the command has started may live on: no descriptor or no /proc to look for it"
                        : "the command could not be killed; it is stuck in the kernel");
    return true;
  }

  // What has lost its parent is our child, and waitpid has just reaped all that are dead.
  bool nothing_left() {
    if (!reaped_ || childless_) return reaped_;
    if (const auto none = has_no_child(guard_pid())) return *none;
    bool any = false;
    const auto until = std::max(kill_at_, BootClock::now() + kill_round);
    const auto looked = look_below(self(), guard_pid(), until, [&](const Process&) { any = true; });
    return !any && looked == Looked::complete;
  }

  void await_event() {
    auto at = told_ ? base::never : permit_.stop_at();
    if (stopping_) at = std::max(kill_at_, BootClock::now() + kill_round);
    timer_.set(at);
    std::array<pollfd, 2> fds{pollfd{timer_.fd(), POLLIN, 0}, pollfd{told_ ? -1 : permit_.wake_fd(), POLLIN, 0}};
    signals_.wait_event(fds, at);  // the bound again, should there be no descriptor for a timer
  }

  pid_t child_;
  Signals& signals_;
  base::Permit& permit_;
  const Supervision& how_;
  std::optional<Guard> guard_;
  int guards_ = 0;
  std::vector<Process> known_;  // below us when the permit ended
  base::BootTimer timer_;
  Ending ending_;
  Instant kill_at_{};
  Instant hopeless_at_{};  // set with the first SIGKILL
  bool reaped_ = false;
  bool childless_ = false;  // waitpid said so, when last asked
  bool told_ = false;       // the permit's end has been acted on
  bool stopping_ = false;   // everything below us has to go
};

}  // namespace

Ending supervise(pid_t child, Signals& signals, base::Permit& permit, const Supervision& how) {
  return Supervisor(child, signals, permit, how).run();
}

}  // namespace rlock::process
