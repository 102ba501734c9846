#include "process/keeper.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/wait/boot_timer.hpp"
#include "process/priority.hpp"

namespace rlock::process {
namespace {

using namespace std::chrono_literals;
using base::BootClock;
using base::Instant;

// Between two looks whether what was asked to end has ended.
constexpr auto stop_round = 10ms;
// Between two tries to start a guard.
constexpr auto next_guard = 50ms;

// Enforces the permit on the process: the keeper does, and the guard when the keeper is dead.
class Enforcement {
 public:
  // except: left alone, with all below it, though it may be below the process.
  Enforcement(base::Permit& permit, const KeeperTask& task, pid_t except)
      : permit_(permit),
        task_(task),
        family_({.root = task.stops == Stops::below_too ? task.process.process() : Process{},
                 .marker = task.marker,
                 .since = task.since,
                 .adopts = false}) {
    family_.leave_out(except);
  }

  // nullopt: it goes on. To be called when the process has ended, the permit is revoked, and at next_step().
  std::optional<Keeper::Ending> step() {
    const bool has_ended = !task_.process.is_alive();
    if (!has_acted_) {
      if (permit_.loss() == base::Permit::Loss::released) return Keeper::Ending::released;
      if (permit_.revoked() || BootClock::now() >= permit_.stop_at()) {
        permit_ended();
      } else if (has_ended) {
        return Keeper::Ending::ended;
      }
    }
    if (!stopping_) {
      // Under AtEnd::nothing the process may live for ever; when the permit is revoked or over, nothing is renewed.
      const bool is_over = has_ended || permit_.revoked() || BootClock::now() >= permit_.until();
      return has_acted_ && is_over ? std::optional(Keeper::Ending::lost) : std::nullopt;
    }
    if (permit_.loss() == base::Permit::Loss::taken) kill_at_ = std::min(kill_at_, BootClock::now());
    if (has_ended && family_.is_over()) return Keeper::Ending::lost;
    if (BootClock::now() < kill_at_) return std::nullopt;
    return kill() ? Keeper::Ending::lost : Keeper::Ending::left_behind;
  }

  // -1 when it has ended, and what it started has not.
  int process_fd() const { return stopping_ && !task_.process.is_alive() ? -1 : task_.process.fd(); }

  Instant next_step() const {
    if (stopping_) return std::min(kill_at_, BootClock::now() + stop_round);
    return has_acted_ ? permit_.until() : permit_.stop_at();
  }

  // A stopped process keeps its children, so that they are found. False: something lives on, or may do so.
  bool kill() {
    const auto give_up = BootClock::now() + give_up_after;
    task_.process.send(SIGSTOP);
    family_.look_below(give_up);
    task_.process.send(SIGKILL);
    permit_.disarm();
    const bool none_left = family_.kill_all(give_up);
    pollfd ended{task_.process.fd(), POLLIN, 0};
    return base::PlainPoller().wait({&ended, 1}, give_up) == base::Readiness::ready && none_left;
  }

 private:
  void permit_ended() {
    has_acted_ = true;
    const auto loss = permit_.loss();
    const auto out = standard_error_of(task_.process.process().pid, task_.process.fd());
    if (task_.at_end == AtEnd::kill) {
      stopping_ = true;
      const auto now = BootClock::now();
      kill_at_ = loss == base::Permit::Loss::taken ? now : std::min(permit_.kill_at(), now + permit_.kill_after());
      if (kill_at_ > now) ask_to_end(now);
    }
    // The message comes last: nothing may delay the signal.
    say(out, task_.words(loss));
  }

  // First list them all, then signal, as the supervisor does. The lists take at most half of --kill-after.
  void ask_to_end(Instant now) {
    family_.look(now + (kill_at_ - now) / 2);
    for (const int number : {task_.stop_signal, SIGCONT}) {
      task_.process.send(number);
      family_.signal_all_but(number, task_.process.process().pid);
    }
  }

  base::Permit& permit_;
  const KeeperTask& task_;
  Family family_;
  Instant kill_at_{};
  bool has_acted_ = false;  // the permit's end has been acted on
  bool stopping_ = false;   // the process has to go
};

void await(const std::vector<int>& readable, base::BootTimer& timer, Instant until) {
  std::vector<pollfd> fds;
  for (const int fd : readable) fds.push_back({fd, POLLIN, 0});
  timer.poll(fds, until, nullptr);
}

// The guard's part.
void stand_by(base::Permit& permit, const KeeperTask& task, pid_t keeper, int keeper_fd) {
  base::BootTimer timer;
  bool may_act = task.at_end == AtEnd::kill;
  bool has_ended = false;  // by itself
  while (!base::is_readable(keeper_fd)) {
    const bool is_dead = !task.process.is_alive();
    has_ended |= is_dead && !permit.revoked() && BootClock::now() < permit.stop_at();
    may_act &= !has_ended && permit.loss() != base::Permit::Loss::released;
    // At the instant at which the keeper kills. It is frozen, or late.
    if (may_act && BootClock::now() >= permit.kill_at()) {
      permit.enforce();
      Enforcement(permit, task, keeper).kill();
      may_act = false;
      ::syscall(SYS_pidfd_send_signal, keeper_fd, SIGCONT, nullptr,
                0);  // if it was stopped, it has to say so and to end
    }
    await({keeper_fd, is_dead ? -1 : task.process.fd()}, timer, may_act ? permit.kill_at() : base::never);
  }
  Enforcement enforcement(permit, task, ::getpid());
  auto ending = has_ended ? std::optional(Keeper::Ending::ended) : enforcement.step();
  while (!ending) {
    await({enforcement.process_fd()}, timer, enforcement.next_step());
    ending = enforcement.step();
  }
  step_back();
  if (*ending == Keeper::Ending::ended || *ending == Keeper::Ending::lost) task.orphaned();
}

}  // namespace

base::Result<void> Keeper::begin() { return start_guard(); }

base::Result<void> Keeper::start_guard() {
  const pid_t keeper = ::getpid();
  guard_ = RLOCK_TRY(Guard::fork_off("rlock-guard", task_.guard_title, {task_.process.fd()},
                                     [&, keeper](int fd) { stand_by(permit_, task_, keeper, fd); }));
  guard_fd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, guard_->pid(), 0)));
  ++guards_;
  return {};
}

Keeper::Ending Keeper::run() {
  base::BootTimer timer;
  Enforcement enforcement(permit_, task_, ::getpid());
  while (true) {
    permit_.heard();
    if (const auto ending = enforcement.step()) return *ending;
    if (guard_ && guard_fd_ && base::is_readable(guard_fd_.get())) {
      guard_->stop();
      guard_.reset();
      guard_fd_.reset();
    }
    const auto lacks_guard = [&] { return !guard_ && guards_ < Guard::max_started; };
    if (lacks_guard()) task_.alone([&] { (void)start_guard(); });
    const auto next = lacks_guard() ? BootClock::now() + next_guard : base::never;
    await({enforcement.process_fd(), permit_.wake_fd(), guard_fd_.get()}, timer,
          std::min(next, enforcement.next_step()));
  }
}

void Keeper::end() {
  if (guard_) guard_->stop();
}

}  // namespace rlock::process
