#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>

#include "base/clock.hpp"

namespace rlock::process {

/// A process, told apart from a later one with the same pid by its start time (clock ticks since boot).
struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';
  int threads = 0;
  unsigned long long start = 0;

  /// If only its first thread is a zombie, other threads are still alive.
  bool is_dead() const { return (state == 'Z' && threads <= 1) || state == 'X'; }
  bool operator==(const Process& other) const { return pid == other.pid && start == other.start; }
};

/// The whole of a file of /proc; nullopt: errno says why.
std::optional<std::string> read_file(const std::string& path);

/// Whether a process was started with `marker`, a random text, anywhere in its environment: RLOCK_TOKENS lists several.
/// unknown: the environment is empty, or cannot be read (any more, or just now, during an exec).
enum class Marked { yes, no, unknown };
Marked is_marked(pid_t pid, const std::string& marker);

/// nullopt: there is none with this pid, or it cannot be looked at.
std::optional<Process> read_process(pid_t pid);
/// Whether it is still there, and not a zombie.
bool is_alive(const Process& process);

/// Sends through a pidfd to exactly that process: false, and nothing sent, when it is gone (R18 of tests/PROOFS.md).
bool send_signal(const Process& process, int number);

/// How a look round ended.
enum class Looked {
  complete,
  cut_short,  ///< by time, or because something changed meanwhile: there may be more
  blind,      ///< no /proc, that of another namespace, or no descriptor: that nothing was found means nothing
};
using Found = std::function<void(const Process&)>;

/// Calls `found` once for each living process below `roots`, as soon as it is seen, parents before their children. The
/// roots are left out, and so are `except` and all below it. If the kernel has /proc/PID/task/TID/children, the cost
/// depends only on the number of processes found; else it is a walk over all of /proc. Ends at `until` at the latest.
///
/// A process that forks and exits meanwhile may be missed, and its children with it. If a root is a subreaper, it
/// adopts them and the next look finds them.
Looked look_below(std::span<const Process> roots, pid_t except, base::Instant until, const Found& found);
/// The same by a walk over all of /proc, whatever the kernel has.
Looked look_everywhere(std::span<const Process> roots, pid_t except, base::Instant until, const Found& found);

/// What one look below takes on this machine: zero where the kernel lists children, so that it costs what the own
/// descendants cost; else measured, once over all of /proc.
std::chrono::nanoseconds time_of_a_look();

/// Whether this process has no child but `except`; zombies count as children. If it is a subreaper, this one read
/// proves that nothing lives below it: an orphan becomes its child at the moment it loses its parent, and no other
/// process reaps. Call it from the thread that reaps. nullopt: unknown on this kernel.
std::optional<bool> has_no_child(pid_t except);

/// Looks among all processes for those that were started with a marker in their environment (is_marked). Each process
/// is looked at once, the newest first, so that a second round costs little more than reading the list.
class MarkedSearch {
 public:
  /// since: the start time before which none of them can have started.
  MarkedSearch(std::string marker, unsigned long long since) : marker_(std::move(marker)), since_(since) {}

  /// Calls `found` for each that is alive, and that no round before has found.
  Looked round(base::Instant until, const Found& found);

 private:
  std::string marker_;
  unsigned long long since_;
  std::unordered_set<pid_t> seen_;
};

}  // namespace rlock::process
