#include "process/guard.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/boot_timer.hpp"
#include "base/poller.hpp"
#include "process/descendants.hpp"

namespace rlock::process {
namespace {

using base::BootClock;
using base::Instant;

constexpr const char* comm = "rlock-guard";
// What SIGKILL has not ended by then hangs in the kernel.
constexpr auto hopeless_after = std::chrono::seconds(10);
constexpr int sure_after = 4;
constexpr auto first_look = std::chrono::milliseconds(100);

class Watch {
 public:
  Watch(base::Permit& permit, pid_t rlock, int rlock_fd, std::string environment, AtEnd at_end)
      : permit_(permit), rlock_(rlock), rlock_fd_(rlock_fd), at_end_(at_end) {
    roots_.environment = std::move(environment);
  }

  // Returns when rlock is dead: true when nothing of the command is left.
  bool keep() {
    // Half the kill time is rlock's own to act in, half is the guard's.
    bool fired = at_end_ == AtEnd::leave;
    // A look costs a walk over /proc: a job that is over soon does without.
    if (!rlock_is_gone(std::min(BootClock::now() + first_look, permit_.until() - permit_.kill_time() / 2))) {
      watch(fired);
    }
    // The lock may go to another only when nobody is left who thinks that he has it.
    if (permit_.over()) return true;
    for (const auto& process : roots_.known) send_signal(process, SIGKILL);  // at once; the walk takes its time
    return kill_all(roots_);
  }

 private:
  // Returns when rlock is dead.
  void watch(bool fired) {
    while (true) {
      roots_.known = descendants_of({rlock_, {}, {}}, ::getpid()).living;
      const auto act_at = fired ? base::never : permit_.until() - permit_.kill_time() / 2;
      if (rlock_is_gone(act_at)) break;
      if (!fired && !permit_.over() && BootClock::now() >= permit_.until() - permit_.kill_time() / 2) {
        permit_.enforce();
        kill_all({rlock_, roots_.known, {}});
        fired = true;
      }
    }
  }

  bool rlock_is_gone(Instant until) {
    timer_.set(until);
    std::array<pollfd, 2> fds{pollfd{rlock_fd_, POLLIN, 0}, pollfd{timer_.fd(), POLLIN, 0}};
    base::poll_until(fds, until, nullptr);
    return (fds[0].revents & POLLIN) != 0;
  }

  static bool kill_all(const Roots& roots) {
    base::PlainPoller plain;
    const auto give_up = BootClock::now() + hopeless_after;
    // A process that forks and exits while we walk may be passed by: one empty walk proves nothing.
    for (int empty = 0; empty < sure_after;) {
      const auto left = descendants_of(roots, ::getpid());
      empty = left.living.empty() && left.certain && !left.blind ? empty + 1 : 0;
      if (BootClock::now() >= give_up) return left.living.empty() && !left.blind;
      for (const auto& process : left.living) send_signal(process, SIGKILL);
      plain.wait({}, BootClock::now() + std::chrono::milliseconds(1));
    }
    return true;
  }

  base::Permit& permit_;
  pid_t rlock_;
  int rlock_fd_;
  AtEnd at_end_;
  Roots roots_;
  base::BootTimer timer_;
};

}  // namespace

base::Result<Guard> Guard::start(base::Permit& permit, std::string environment, AtEnd at_end,
                                 const std::function<void()>& orphaned) {
  const pid_t rlock = ::getpid();
  const base::Fd rlock_fd(static_cast<int>(::syscall(SYS_pidfd_open, rlock, 0)));
  if (!rlock_fd) return base::fail_errno(base::ErrorCode::internal, "pidfd_open");
  const pid_t pid = ::fork();
  if (pid < 0) return base::fail_errno(base::ErrorCode::internal, "fork");
  if (pid > 0) return Guard(pid);

  ::setsid();
  ::prctl(PR_SET_NAME, comm);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard : {0, 1, 2}) {
    if (null >= 0) ::dup2(null, standard);
  }
  const int kept = ::dup3(rlock_fd.get(), 3, O_CLOEXEC) < 0 ? rlock_fd.get() : 3;
  ::close_range(4, ~0U, 0);

  if (Watch(permit, rlock, kept, std::move(environment), at_end).keep()) orphaned();
  ::_exit(0);
}

void Guard::stop() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

}  // namespace rlock::process
