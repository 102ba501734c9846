#include "process/spawn.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "process/family.hpp"

namespace rlock::process {

std::variant<Spawned, ExecFailed, SignalFirst, TooLate, NoProcess> spawn(const std::vector<std::string>& argv,
                                                                         Signals& signals, base::Instant latest) {
  std::vector<char*> arguments;
  for (const auto& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  auto before = children_so_far();
  const bool adopts = ::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
  const pid_t parent = ::getpid();
  sigset_t all;
  sigfillset(&all);
  volatile int exec_error = 0;
  volatile bool held_back = false;

  // The race: Ctrl-C signals the whole process group. Before the child exists only we get the signal; from then on the
  // child gets it too. So signals are unblocked around the vfork. A signal that comes before the child exists runs our
  // handler first (clone does not finish while a signal is pending); the child shares our memory, sees the note of the
  // handler, and does not start the command. A signal that reaches the child before it blocks signals runs the handler
  // there, with the same result. A later one stays pending in the child and reaches the command.
  signals.open_window();
  if (signals.first_ending()) {
    signals.close_window();
    return SignalFirst{};
  }
  // Not posix_spawn, which can neither check for that race nor set a death signal. All calls of the child are safe
  // after vfork, and what it writes to memory is for us to read.
  // NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork,bugprone-unsafe-functions)
  const pid_t child = ::vfork();
  if (child == 0) {
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The last look at the clock: rlock, or this child, may have stood still since the one before.
    held_back = signals.first_ending() || ::getppid() != parent || base::BootClock::now() >= latest;
    if (held_back) ::_exit(0);
    signals.restore_in_child();
    ::execvp(arguments[0], arguments.data());
    exec_error = errno;
    ::_exit(127);
  }
  // NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork,bugprone-unsafe-functions)
  const int fork_error = errno;
  // A vfork returns when the child has left our memory: by exec, or by _exit, which it then has reason for.
  signals.close_window();
  if (child < 0) return NoProcess{fork_error};
  if (exec_error != 0 || held_back) ::waitpid(child, nullptr, 0);
  if (held_back && signals.first_ending()) return SignalFirst{};
  if (held_back) return TooLate{};
  if (exec_error != 0) return ExecFailed{exec_error};
  return Spawned{child, std::move(before), adopts};
}

}  // namespace rlock::process
