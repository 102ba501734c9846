#include "process/keeper.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/boot_timer.hpp"
#include "process/priority.hpp"

namespace rlock::process {
namespace {

using namespace std::chrono_literals;
using base::BootClock;
using base::Instant;

// Between two looks whether what was asked to end has ended.
constexpr auto stop_round = 10ms;

// The standard error of the process, fetched when it is needed: nothing is held open meanwhile. Of a file this is a
// copy of the descriptor: the process and its children share an offset, and would write over what comes from another
// opening. A socket is copied too, because it cannot be opened again. A pipe or a terminal is opened again, because a
// write to a copy could block. (If kernel.yama.ptrace_scope is set, only root may copy.)
base::Fd standard_error_of(const Held& process) {
  base::Fd copy(static_cast<int>(::syscall(SYS_pidfd_getfd, process.fd(), STDERR_FILENO, 0)));
  struct stat status{};
  if (copy && ::fstat(copy.get(), &status) == 0 && (S_ISREG(status.st_mode) || S_ISSOCK(status.st_mode))) return copy;
  const auto path = "/proc/" + std::to_string(process.process().pid) + "/fd/2";
  return base::Fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
}

// Never blocks, if out is from standard_error_of().
void say(const base::Fd& out, std::string_view line) {
  if (!out) return;
  if (::send(out.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != ENOTSOCK) return;
  (void)!::write(out.get(), line.data(), line.size());
}

// Enforces the permit on the process: the keeper does, and the guard when the keeper is dead.
class Ward {
 public:
  // except: left alone, with all below it, though it may be below the process.
  Ward(base::Permit& permit, const Charge& charge, pid_t except)
      : permit_(permit),
        charge_(charge),
        family_({.root = charge.stops == Stops::below_too ? charge.process.process() : Process{},
                 .marker = charge.marker,
                 .since = charge.since,
                 .adopts = false}) {
    family_.leave_out(except);
  }

  // nullopt: it goes on. To be called when the process has ended, the permit is revoked, and at next_step().
  std::optional<Keeper::Ending> step() {
    const bool has_ended = !charge_.process.is_alive();
    if (!told_) {
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
      return told_ && is_over ? std::optional(Keeper::Ending::lost) : std::nullopt;
    }
    if (permit_.loss() == base::Permit::Loss::taken) kill_at_ = std::min(kill_at_, BootClock::now());
    if (has_ended && family_.is_over()) return Keeper::Ending::lost;
    if (BootClock::now() < kill_at_) return std::nullopt;
    kill();
    return Keeper::Ending::lost;
  }

  // -1 when it has ended, and what it started has not.
  int process_fd() const { return stopping_ && !charge_.process.is_alive() ? -1 : charge_.process.fd(); }

  Instant next_step() const {
    if (stopping_) return std::min(kill_at_, BootClock::now() + stop_round);
    return told_ ? permit_.until() : permit_.stop_at();
  }

  // A stopped process keeps its children, so that they are found.
  void kill() {
    const auto give_up = BootClock::now() + give_up_after;
    charge_.process.send(SIGSTOP);
    family_.look_below(give_up);
    charge_.process.send(SIGKILL);
    family_.kill_all(give_up);
  }

 private:
  void permit_ended() {
    told_ = true;
    const auto loss = permit_.loss();
    const auto out = standard_error_of(charge_.process);
    if (charge_.at_end == AtEnd::kill) {
      stopping_ = true;
      const auto now = BootClock::now();
      kill_at_ = loss == base::Permit::Loss::taken ? now : std::min(permit_.kill_at(), now + permit_.grace());
      if (kill_at_ > now) ask_to_end(now);
    }
    // The message comes last: nothing may delay the signal.
    say(out, charge_.words(loss));
  }

  // First list them all, then signal, as the supervisor does. The lists take at most half of the grace.
  void ask_to_end(Instant now) {
    family_.look(now + (kill_at_ - now) / 2);
    for (const int number : {charge_.stop_signal, SIGCONT}) {
      charge_.process.send(number);
      family_.tell(number, charge_.process.process().pid);
    }
  }

  base::Permit& permit_;
  const Charge& charge_;
  Family family_;
  Instant kill_at_{};
  bool told_ = false;      // the permit's end has been acted on
  bool stopping_ = false;  // the process has to go
};

void await(const std::vector<int>& readable, base::BootTimer& timer, Instant until) {
  timer.set(until);
  std::vector<pollfd> fds;
  for (const int fd : readable) fds.push_back({fd, POLLIN, 0});
  fds.push_back({timer.fd(), POLLIN, 0});
  base::poll_until(fds, until, nullptr);
}

// The guard's part.
void stand_by(base::Permit& permit, const Charge& charge, pid_t keeper, int keeper_fd) {
  base::BootTimer timer;
  bool may_act = charge.at_end == AtEnd::kill;
  bool has_ended = false;  // by itself
  while (!base::is_readable(keeper_fd)) {
    const bool is_dead = !charge.process.is_alive();
    has_ended |= is_dead && !permit.revoked() && BootClock::now() < permit.stop_at();
    may_act &= !has_ended && permit.loss() != base::Permit::Loss::released;
    // At the instant at which the keeper kills. It is frozen, or late.
    if (may_act && BootClock::now() >= permit.kill_at()) {
      permit.enforce();
      Ward(permit, charge, keeper).kill();
      may_act = false;
    }
    await({keeper_fd, is_dead ? -1 : charge.process.fd()}, timer, may_act ? permit.kill_at() : base::never);
  }
  Ward ward(permit, charge, ::getpid());
  auto ending = has_ended ? std::optional(Keeper::Ending::ended) : ward.step();
  while (!ending) {
    await({ward.process_fd()}, timer, ward.next_step());
    ending = ward.step();
  }
  be_ordinary();
  if (*ending != Keeper::Ending::released) charge.orphaned();
}

}  // namespace

base::Result<void> Keeper::begin() { return start_guard(); }

base::Result<void> Keeper::start_guard() {
  ++guards_;
  const pid_t keeper = ::getpid();
  guard_ = RLOCK_TRY(Guard::fork_off("rlock-guard", charge_.guard_title, {charge_.process.fd()},
                                     [&, keeper](int fd) { stand_by(permit_, charge_, keeper, fd); }));
  guard_fd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, guard_->pid(), 0)));
  return {};
}

Keeper::Ending Keeper::watch() {
  base::BootTimer timer;
  Ward ward(permit_, charge_, ::getpid());
  while (true) {
    permit_.heard();
    if (const auto ending = ward.step()) return *ending;
    if (guard_ && guard_fd_ && base::is_readable(guard_fd_.get())) {
      guard_->stop();
      guard_fd_.reset();
      if (guards_ < Guard::max_started) (void)start_guard();
    }
    await({ward.process_fd(), permit_.wake_fd(), guard_fd_.get()}, timer, ward.next_step());
  }
}

void Keeper::end() {
  if (guard_) guard_->stop();
}

}  // namespace rlock::process
