#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/wait/clock.hpp"

namespace rlock::process {

/// What /proc says of processes.

/// A process, told apart from a later one with the same pid by its start time (clock ticks since boot).
struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';
  int threads = 0;
  unsigned long long start = 0;  ///< 0: unknown
  std::string name{};            ///< at most 15 bytes: what `ps -o comm` shows

  /// If only its first thread is a zombie, other threads are still alive.
  bool is_dead() const { return (state == 'Z' && threads <= 1) || state == 'X'; }
  bool operator==(const Process& other) const { return pid == other.pid && start == other.start; }
};

/// Whether /proc shows the processes of this pid namespace, by the pids that they have for us. Found out once.
bool sees_processes();

/// The whole of a file of /proc; nullopt: errno says why.
std::optional<std::string> read_file(const std::string& path);
/// Whether a call has just failed because no descriptor is left.
bool lacks_descriptors();

/// nullopt: there is none with this pid, or it cannot be looked at.
std::optional<Process> read_process(pid_t pid);

/// Whether a process was started with `marker`, a random text, anywhere in its environment: RLOCK_TOKENS lists several.
/// unknown: the environment is empty, or cannot be read (any more, or just now, during an exec).
enum class Marked { yes, no, unknown };
Marked is_marked(pid_t pid, const std::string& marker);

/// Whether it runs the same program file as we do.
bool runs_our_program(pid_t pid);
/// Whether it is the guard or the keeper of any rlock: these only end what has lost its lock, release, and end.
bool is_guard_or_keeper(const Process& process);

/// A pidfd; none where the kernel has none or denies them, no descriptor is left, or there is no such process.
base::Fd open_pid(pid_t pid);

/// A process, pinned by a pidfd if possible: a later process with its pid is never taken for it (R18 of
/// tests/PROOFS.md).
class PinnedProcess {
 public:
  PinnedProcess(Process process, base::Fd fd) : process_(std::move(process)), fd_(std::move(fd)) {}

  const Process& process() const { return process_; }
  /// Readable when it has ended, also while its parent has not reaped it. -1: it is not pinned by a pidfd.
  int fd() const { return fd_.get(); }
  /// Reads anew what /proc says of it. false: it has ended.
  bool refresh();
  /// Whether it is still there, and not a zombie.
  bool is_alive() const;
  /// 0, or why nothing was sent: ESRCH, it has ended; EPERM, another user's.
  int send(int number) const;

 private:
  Process process_;
  base::Fd fd_;
};

/// How a look ended.
enum class Looked {
  complete,
  cut_short,  ///< by time, or because something changed meanwhile: there may be more
  blind,      ///< no /proc, that of another namespace, or no descriptor: that nothing was found means nothing
};

/// All processes; empty where they cannot be listed.
std::vector<pid_t> all_processes();

/// Who is whose child.
class Children {
 public:
  enum class From {
    lists,  ///< of the kernel, /proc/PID/task/TID/children: one costs what its children cost
    walk,   ///< over all of /proc, once, in the constructor: for kernels without the lists
  };
  static From best();

  Children(From from, base::Instant until);
  /// How the walk ended.
  Looked looked() const { return looked_; }
  /// Appends the children of all threads of the process.
  Looked append(const Process& parent, std::vector<pid_t>& children) const;

 private:
  From from_;
  Looked looked_ = Looked::complete;
  std::vector<Process> all_;  // by parent
};

/// The children of the calling thread, which is where orphans go; zombies count. Nothing is missing if the same thread
/// reaps them. nullopt: unknown on this kernel.
std::optional<std::vector<pid_t>> own_children();

/// What one look below takes on this machine: zero where the kernel lists children, so that it costs what the own
/// descendants cost; else measured, once over all of /proc.
std::chrono::nanoseconds time_of_a_look();

}  // namespace rlock::process
