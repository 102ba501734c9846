#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/wait/clock.hpp"
#include "process/proc.hpp"

namespace rlock::process {

/// A process that SIGKILL has not ended after so long is stuck in the kernel.
inline constexpr std::chrono::seconds give_up_after{10};

/// Guards and keepers of other rlocks below us, which release what those held: are they of the family?
enum class Guards { spared, included };

/// Who is of a family.
struct Scope {
  /// All below it; pid 0: nobody. Without a start time it is this process, whatever that is.
  Process root{};
  /// Those that have this random text in their environment; empty: nobody.
  std::string marker{};
  /// A start time: what is older is not of it, with all below. 0: that of the root.
  unsigned long long since = 0;
  /// Children that the root had before: they are not of it, with all below.
  std::vector<Process> before{};
  /// The root is a subreaper: what loses its parent becomes its child. Else a look is also a search.
  bool adopts = true;
  Guards guards = Guards::spared;
};

/// Whose a process is: the one place that knows. It looks for the processes of a family, pins those that it has seen,
/// signals these and nobody else, and tells when none is left. docs/servers.md names whom it cannot reach.
class Family {
 public:
  explicit Family(Scope scope) : scope_(std::move(scope)) {}
  Family(Scope scope, Children::From from) : scope_(std::move(scope)), from_(from) {}

  /// A child that is not of it: the own guard. 0: there is none.
  void leave_out(pid_t pid) { left_out_ = pid; }
  void add(PinnedProcess member) { add_pinned(std::move(member)); }

  const Scope& scope() const { return scope_; }
  /// Those seen that have not ended when last looked, parents before their children.
  const std::vector<PinnedProcess>& members() const { return members_; }

  /// Looks for members below the root and those known, and where the root does not adopt orphans, among all. Ends at
  /// `until` at the latest. A process that forks and exits meanwhile may be missed, and its children with it: if the
  /// root adopts them, the next look finds them.
  Looked look(base::Instant until);
  /// Only below.
  Looked look_below(base::Instant until);
  /// Only by the marker: where the root was a subreaper and is dead, among those that have the new parent that its
  /// orphans and we have, else among all processes. Each is looked at once, newest first.
  Looked search(base::Instant until);

  /// Whether none of the known ones is left.
  bool is_over();
  /// Whether several looks in a row find nobody, all before `until`: one may pass by a process that just forks, or that
  /// has no environment in the moment of its exec.
  bool finds_nobody(base::Instant until);
  /// If the root is this process, the only one that reaps, and adopts orphans: whether no member is left; zombies
  /// count. This needs no look: an orphan becomes our child at the moment it loses its parent. nullopt: unknown.
  std::optional<bool> is_childless() const;

  /// Sends to all that are known. Returns one to which it may not be sent: that runs as another user.
  std::optional<Process> signal(int number) const;
  /// Sends to all that are known but `except`, and but what is below an rlock run among them, which passes the signal
  /// on. Returns as signal() does.
  std::optional<Process> signal_all_but(int number, pid_t except) const;

  /// Kills the known ones, at once; then looks, until several looks have found nothing more: true. False: something is
  /// left at `give_up`, or it cannot be seen.
  bool kill_all(base::Instant give_up);

 private:
  unsigned long long since() const { return scope_.since != 0 ? scope_.since : scope_.root.start; }
  bool is_member(const Process& process) const;
  bool is_spared(const Process& process) const;
  bool has_become_guard(const PinnedProcess& member) const;
  bool is_known(pid_t pid) const { return known_.contains(pid); }
  std::optional<Process> root() const;
  Looked meet(pid_t pid, const Process* parent, const Children& children);
  void add_pinned(PinnedProcess member);
  void keep_only(const std::function<bool(PinnedProcess&)>& is_left);
  std::optional<std::vector<pid_t>> orphans_of_root() const;

  Scope scope_;
  Children::From from_ = Children::best();
  pid_t left_out_ = 0;
  std::vector<PinnedProcess> members_;
  std::unordered_set<pid_t> known_;     // of members_
  std::unordered_set<pid_t> searched_;  // looked at by a search, and not of the family
  bool is_killing_ = false;             // members are stopped when met: they start no others and keep their children
  unsigned long long met_ = 0;          // how many so far
};

/// The children that this process has; those of its threads too.
std::vector<Process> children_so_far();

}  // namespace rlock::process
