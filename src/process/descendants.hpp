#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace rlock::process {

/// A process, told apart from a later one with the same pid by its start time (clock ticks since boot).
struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';
  unsigned long long start = 0;

  bool is_zombie() const { return state == 'Z' || state == 'X'; }
  bool operator==(const Process& other) const { return pid == other.pid && start == other.start; }
};

/// Whom a walk starts from.
struct Roots {
  pid_t parent = 0;            ///< all below this process, itself excluded; 0: none
  std::vector<Process> known;  ///< these, as far as they still live, and all below them
  std::string environment;     ///< "NAME=value": those started with it, and all below them; empty: none
};

/// What a walk found.
struct Descendants {
  std::vector<Process> living;  ///< no zombies among them
  /// false where a process went away while it was looked at: its environment could not be read any more, and what it
  /// has left behind may have been missed.
  bool certain = true;
  /// No /proc, that of another namespace, or no descriptor to look with: that nothing was found means nothing.
  bool blind = false;
};

/// Who is below roots; `except` and all below it are left out.
Descendants descendants_of(const Roots& roots, pid_t except);

/// Sends through a pidfd to exactly that process: false, and nothing sent, when it is gone (R18).
bool send_signal(const Process& process, int number);

}  // namespace rlock::process
