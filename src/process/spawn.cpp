#include "process/spawn.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace rlock::process {

std::variant<Spawned, ExecFailed, SignalFirst, NoProcess> spawn(const std::vector<std::string>& argv,
                                                                Signals& signals) {
  std::vector<char*> arguments;
  for (const auto& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = ::getpid();
  sigset_t all;
  sigfillset(&all);
  volatile int exec_error = 0;
  volatile bool held_back = false;

  // The race: a key on the terminal signals the whole group. Before the child exists only we get it, from
  // then on the child too. So signals are let in around the vfork. One that came before the child was made
  // has run our handler before it (clone does not finish while a signal waits), and the child, which shares
  // our memory, sees it and does not start. One that comes to the child before it shuts its own door runs
  // the handler there, with the same outcome; one that comes later waits there for the command.
  signals.open_window();
  if (signals.first_ending()) {
    signals.close_window();
    return SignalFirst{};
  }
  // posix_spawn can neither look at the race below nor set a death signal. Whatever the child calls here is safe after
  // a vfork; what it writes to memory is meant for us to read.
  // NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork,bugprone-unsafe-functions)
  const pid_t child = ::vfork();
  if (child == 0) {
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (signals.first_ending() || ::getppid() != parent) {
      held_back = true;
      ::_exit(0);
    }
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
  if (held_back) return SignalFirst{};
  if (exec_error != 0) return ExecFailed{exec_error};
  return Spawned{child};
}

}  // namespace rlock::process
