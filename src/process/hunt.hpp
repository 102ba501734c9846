#pragma once

#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "process/descendants.hpp"

namespace rlock::process {

/// Kills processes and all that they have started, whose parents may be dead by now: those are found by a marker in
/// their environment.
class Hunt {
 public:
  /// marker: see MarkedSearch; empty where nothing is marked. since: the start time before which none of
  /// the marked can have started.
  Hunt(std::string marker, unsigned long long since) : marker_(std::move(marker)), since_(since) {}

  /// The processes known so far. They come first: a search for the others takes longer.
  const std::vector<Process>& known() const { return known_; }
  void add(const Process& process);
  /// The same for several, none of which is known yet.
  void add_all(std::span<const Process> processes) { known_.insert(known_.end(), processes.begin(), processes.end()); }
  void forget_all() { known_.clear(); }
  /// Whether none of the known ones is left.
  bool is_over();
  void kill_known() const;

  /// Kills the known ones, all below them and all that are marked, until several looks have found nothing more: true.
  /// False: something is left at `give_up`, or it cannot be seen.
  bool kill_all(base::Instant give_up);

 private:
  void kill_families(std::vector<Process> family, base::Instant until);

  std::string marker_;
  unsigned long long since_;
  std::vector<Process> known_;
};

/// A process that SIGKILL has not ended after so long is stuck in the kernel.
inline constexpr std::chrono::seconds give_up_after{10};

/// How many looks in a row have to find nothing: a process that forks and exits while we look may be passed by.
inline constexpr int min_empty_looks = 4;

/// Between two such looks.
void pause_between_looks();

}  // namespace rlock::process
