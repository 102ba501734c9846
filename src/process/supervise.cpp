#include "process/supervise.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <optional>

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
    ending_.guard = guard_;
    return ending_;
  }

 private:
  // Reaps whatever has ended: the command, orphans that became ours, the guard.
  bool child_ended() {
    int status = 0;
    while (true) {
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
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
    auto guard = Guard::start(permit_, how_.marker, how_.at_end, how_.orphaned);
    if (guard) {
      guard_ = *guard;
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
    const bool revoked = permit_.revoked();
    ending_.stopped = true;
    if (how_.at_end == AtEnd::kill) {
      stopping_ = true;
      kill_at_ = std::min(permit_.kill_at(), BootClock::now() + permit_.grace());
      const auto all = below().living;
      signal_all(all, how_.stop_signal);
      signal_all(all, SIGCONT);
    }
    // After the deed: nothing may come between the end of the permit and the signal.
    how_.ended_early(revoked);
  }

  Descendants below() const { return descendants_of({::getpid(), {}, {}}, guard_ ? guard_->pid() : 0); }

  void signal_all(const std::vector<Process>& all, int number) {
    bool reached = reaped_;
    for (const auto& process : all) {
      const bool sent = send_signal(process, number);
      reached = reached || (sent && process.pid == child_);
    }
    // Without /proc, or a descriptor left to look into it, there is the command at least: ours until it is reaped.
    if (!reached) ::kill(child_, number);
  }

  // true when nothing is left, or nothing more can be done.
  bool stop_all() {
    if (!stopping_) return false;
    const auto left = below();
    if (left.living.empty() && !left.blind && reaped_) return true;
    if (BootClock::now() < kill_at_) return false;
    signal_all(left.living, SIGKILL);
    if (hopeless_at_ == Instant{}) hopeless_at_ = BootClock::now() + hopeless_after;
    if (BootClock::now() < hopeless_at_) return false;
    ending_.left_behind = true;
    base::log_error(left.blind ? "what the command has started may live on: no descriptor or no /proc to look for it"
                               : "the command could not be killed; it is stuck in the kernel");
    return true;
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
  base::BootTimer timer_;
  Ending ending_;
  Instant kill_at_{};
  Instant hopeless_at_{};  // set with the first SIGKILL
  bool reaped_ = false;
  bool told_ = false;      // the permit's end has been acted on
  bool stopping_ = false;  // everything below us has to go
};

}  // namespace

Ending supervise(pid_t child, Signals& signals, base::Permit& permit, const Supervision& how) {
  return Supervisor(child, signals, permit, how).run();
}

}  // namespace rlock::process
