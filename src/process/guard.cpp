#include "process/guard.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/boot_timer.hpp"
#include "base/poller.hpp"
#include "process/background.hpp"
#include "process/descendants.hpp"
#include "process/hunt.hpp"

namespace rlock::process {
namespace {

using base::BootClock;
using base::Instant;

constexpr auto first_look = std::chrono::milliseconds(100);
// Between two looks, however long the lease.
constexpr auto max_pause = std::chrono::seconds(10);

class Watch {
 public:
  Watch(base::Permit& permit, int rlock_fd, const Process& rlock, const std::optional<Process>& command,
        const Orders& orders)
      : permit_(permit),
        rlock_fd_(rlock_fd),
        rlock_{rlock},
        orders_(orders),
        hunt_(orders.marker, command ? command->start : 0) {
    if (command) hunt_.add(*command);
  }

  // Returns when rlock is dead: true when nothing of the command is left.
  bool keep() {
    // A job that ends soon needs no look.
    if (!rlock_is_gone(std::min(BootClock::now() + first_look, act_at()))) watch();
    // The lock may go to another holder only when no process of the command is left. The orphans of a dead rlock are
    // children of another process by now: those that we have not seen before are found by their environment.
    return permit_.over() || hunt_.kill_all(BootClock::now() + give_up_after);
  }

 private:
  // The same instant at which rlock acts: on a busy machine either may be late, and both do the same.
  Instant act_at() const { return permit_.kill_at(); }

  // Returns when rlock is dead.
  void watch() {
    bool fired = orders_.at_end == AtEnd::nothing;
    while (true) {
      look_round(fired ? base::never : act_at());
      const auto next_look = BootClock::now() + max_pause;
      if (rlock_is_gone(fired ? next_look : std::min(next_look, act_at()))) return;
      if (!fired && !permit_.over() && BootClock::now() >= act_at()) {
        permit_.enforce();
        kill_below();
        fired = true;
      }
    }
  }

  void look_round(Instant until) {
    std::vector<Process> seen;
    const auto looked = look_below(rlock_, ::getpid(), until, [&](const Process& process) { seen.push_back(process); });
    if (looked == Looked::complete) hunt_.forget_all();
    hunt_.add_all(seen);
  }

  bool rlock_is_gone(Instant until) {
    timer_.set(until);
    std::array<pollfd, 2> fds{pollfd{rlock_fd_, POLLIN, 0}, pollfd{timer_.fd(), POLLIN, 0}};
    base::poll_until(fds, until, nullptr);
    return fds[0].revents != 0;
  }

  // rlock is alive, but frozen or late: orphans become its children, so they can still be found.
  void kill_below() {
    hunt_.kill_known();
    const auto give_up = BootClock::now() + give_up_after;
    for (int empty = 0; empty < min_empty_looks && BootClock::now() < give_up;) {
      bool any = false;
      const auto looked = look_below(rlock_, ::getpid(), give_up, [&](const Process& process) {
        any = true;
        send_signal(process, SIGKILL);
        hunt_.add(process);
      });
      empty = !any && looked == Looked::complete ? empty + 1 : 0;
      pause_between_looks();
    }
  }

  base::Permit& permit_;
  int rlock_fd_;
  std::array<Process, 1> rlock_;
  const Orders& orders_;
  Hunt hunt_;  // what is below rlock, when last looked
  base::BootTimer timer_;
};

// sched_setattr(2); glibc 2.36 has no name for it.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};

// On a machine whose cores are all busy, a process that wakes up waits for its turn, perhaps until after the end of the
// lease. The guard sleeps nearly all the time, so it may go first: as a realtime process if it has that right, else
// with a short time slice, which is scheduled sooner (Linux 6.12 and later; older kernels ignore it).
void be_prompt() {
  sched_param least{};
  least.sched_priority = ::sched_get_priority_min(SCHED_RR);
  if (::sched_setscheduler(0, SCHED_RR, &least) == 0) return;
  SchedulingAttributes attributes;
  attributes.nice = ::getpriority(PRIO_PROCESS, 0);
  attributes.runtime_ns = 100'000;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0U);
}

}  // namespace

base::Result<Guard> Guard::fork_off(const char* name, const std::string& title, std::vector<int> kept,
                                    const std::function<void(int rlock_fd)>& watch) {
  base::Fd rlock_fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  base::Fd alive;
  if (!rlock_fd) {
    // Before Linux 5.3, or denied: a pipe whose other end only this process has.
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail_errno(base::ErrorCode::internal, "pipe2");
    rlock_fd.reset(ends[0]);
    alive.reset(ends[1]);
  }
  const pid_t pid = ::fork();
  if (pid < 0) return base::fail_errno(base::ErrorCode::internal, "fork");
  if (pid > 0) return Guard(pid, std::move(alive));

  kept.push_back(rlock_fd.get());
  become_background(name, title, kept);
  be_prompt();
  watch(rlock_fd.get());
  ::_exit(0);
}

base::Result<Guard> Guard::start(base::Permit& permit, pid_t command, const Orders& orders) {
  RLOCK_TRY(permit.share());
  const pid_t rlock = ::getpid();
  return fork_off(orders.name, orders.title, {}, [&, rlock](int rlock_fd) {
    // The command may have ended, and its pid may belong to another process by now.
    auto first = read_process(command);
    if (first && first->parent != rlock) first.reset();
    const auto self = read_process(rlock).value_or(Process{.pid = rlock});
    if (Watch(permit, rlock_fd, self, first, orders).keep()) orders.orphaned();
  });
}

void Guard::stop() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

}  // namespace rlock::process
