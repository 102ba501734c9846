#include "process/guard.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include "base/wait/boot_timer.hpp"
#include "base/wait/poller.hpp"
#include "process/background.hpp"
#include "process/other_process.hpp"
#include "process/priority.hpp"

namespace rlock::process {
namespace {

using base::BootClock;
using base::Instant;

constexpr auto first_look = std::chrono::milliseconds(100);
// Between two looks, however long the lease.
constexpr auto max_pause = std::chrono::seconds(10);

class GuardLoop {
 public:
  // family: what is below rlock.
  GuardLoop(base::Permit& permit, int rlock_fd, Family family, const GuardTask& task)
      : permit_(permit), rlock_fd_(rlock_fd), task_(task), family_(std::move(family)) {}

  // Returns when rlock is dead: true when nothing of the command is left.
  bool run() {
    // A job that ends soon needs no look.
    if (!rlock_is_gone(std::min(BootClock::now() + first_look, act_at()))) watch_rlock();
    // The lock may go to another holder only when no process of the command is left. The orphans of a dead rlock are
    // children of another process by now: those that we have not seen before are found there by their environment.
    const bool is_over = permit_.over();
    if (!is_over) family_.signal(SIGKILL);
    step_back();
    return is_over || family_.kill_all(BootClock::now() + give_up_after);
  }

 private:
  // The same instant at which rlock acts: on a busy machine either may be late, and both do the same.
  Instant act_at() const { return permit_.kill_at(); }

  // Returns when rlock is dead. Once there is nothing to do at a deadline any more, that is all it waits for.
  void watch_rlock() {
    bool may_act = task_.at_end == AtEnd::kill;
    while (true) {
      may_act = may_act && !permit_.over();
      if (!permit_.over()) family_.look(may_act ? act_at() : base::never);
      const auto now = BootClock::now();
      // Where rlock is late to act, a last look shortly before the deadline: what is known then is killed without one.
      const auto deadline = now < permit_.stop_at() ? permit_.stop_at() : act_at();
      const auto next_look = permit_.over() ? base::never : now + max_pause;
      if (rlock_is_gone(may_act ? std::min(next_look, deadline) : next_look)) {
        if (rlock_error_ && !permit_.over()) say(rlock_error_, task_.lost());
        return;
      }
      if (!may_act || permit_.over() || BootClock::now() < act_at()) continue;
      permit_.enforce();
      // rlock is alive, but frozen or late: orphans become its children, so they can still be found.
      family_.kill_all(BootClock::now() + give_up_after);
      may_act = false;
      // If it was stopped, all that is left to it is to say so and to end, before the kernel's timer ends it. If it
      // comes to that, the guard says it.
      rlock_error_ = standard_error_of(family_.scope().root.pid, rlock_fd_);
      ::syscall(SYS_pidfd_send_signal, rlock_fd_, SIGCONT, nullptr, 0);
    }
  }

  bool rlock_is_gone(Instant until) {
    pollfd rlock{rlock_fd_, POLLIN, 0};
    timer_.poll({&rlock, 1}, until, nullptr);
    return rlock.revents != 0;
  }

  base::Permit& permit_;
  int rlock_fd_;
  const GuardTask& task_;
  Family family_;
  base::BootTimer timer_;
  base::Fd rlock_error_;
};

// What it throws must not unwind through what was rlock's stack: it ends the guard, and rlock starts another.
[[noreturn]] void live(const char* name, const std::string& title, const std::vector<int>& left_open,
                       const std::function<void()>& work) noexcept {
  become_background(name, title, left_open);
  // Whoever stopped the guard together with rlock: it goes on when rlock is killed, by the kernel's timer if nobody
  // else.
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);
  be_prompt();
  work();
  ::_exit(0);
}

}  // namespace

base::Result<Guard> Guard::fork_off(const char* name, const std::string& title, std::vector<int> left_open,
                                    const std::function<void(int rlock_fd)>& work) {
  base::Fd rlock_fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  base::Fd alive;
  if (!rlock_fd) {
    // Before Linux 5.3, or denied: a pipe whose other end only this process has.
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail_errno(base::ErrorCode::internal, "pipe2");
    rlock_fd.reset(ends[0]);
    alive.reset(ends[1]);
  }
  left_open.push_back(rlock_fd.get());
  const pid_t pid = ::fork();
  if (pid < 0) return base::fail_errno(base::ErrorCode::internal, "fork");
  if (pid == 0) live(name, title, left_open, [&] { work(rlock_fd.get()); });
  return Guard(pid, std::move(alive));
}

base::Result<Guard> Guard::start(base::Permit& permit, Scope scope, pid_t command, const GuardTask& task) {
  RLOCK_TRY(permit.share());
  scope.root = read_process(::getpid()).value_or(Process{.pid = ::getpid()});
  auto first = read_process(command).value_or(Process{.pid = command});
  auto command_fd = command > 0 ? open_pid(command) : base::Fd();
  const int command_pidfd = command_fd.get();
  return fork_off(task.name, task.title, {command_pidfd}, [&](int rlock_fd) {
    Family family(std::move(scope));
    if (command > 0) family.add(PinnedProcess(std::move(first), std::move(command_fd)));
    const bool nothing_left = GuardLoop(permit, rlock_fd, std::move(family), task).run();
    if (nothing_left) task.orphaned();
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
