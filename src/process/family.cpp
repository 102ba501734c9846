#include "process/family.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "base/text/number.hpp"
#include "base/wait/poller.hpp"
#include "process/nested.hpp"
#include "process/priority.hpp"
#include "process/signals.hpp"

namespace rlock::process {

using base::BootClock;
using base::Instant;

namespace {

// How many looks in a row have to find nothing (Family::finds_nobody).
constexpr int min_empty_looks = 4;

// Members whose children a guard may look for without giving up its priority: for so short a time nobody waits.
constexpr std::size_t few = 64;

void pause_between_looks() { base::PlainPoller().wait({}, BootClock::now() + std::chrono::milliseconds(1)); }

// An rlock run passes signals that ask it to end on to its command.
bool is_run(const Process& process) { return process.name == "rlock" || process.name == NestedName::name; }

// The process that was started last, since pids are given out in order; 0 if unknown.
pid_t newest_pid() {
  auto last = read_file("/proc/loadavg").value_or("");
  if (last.ends_with('\n')) last.pop_back();
  return base::parse_number<pid_t>(std::string_view(last).substr(last.rfind(' ') + 1)).value_or(0);
}

// From the newest pid downwards, then from the highest: the processes we look for are recent.
void sort_newest_first(std::vector<pid_t>& pids) {
  const auto newest = newest_pid();
  std::ranges::sort(pids, std::ranges::greater{});
  std::ranges::rotate(pids, std::ranges::find_if(pids, [&](pid_t pid) { return pid <= newest; }));
}

// Pinned members take half of the descriptors at most: a look needs some itself.
bool may_hold(const base::Fd& fd) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && static_cast<rlim_t>(fd.get()) < limit.rlim_cur / 2;
}

}  // namespace

std::optional<Process> Family::root() const {
  if (scope_.root.pid == 0) return std::nullopt;
  auto root = read_process(scope_.root.pid);
  const bool is_it = root && !root->is_dead() && (scope_.root.start == 0 || *root == scope_.root);
  return is_it ? std::move(root) : std::nullopt;
}

// With children from before there may be orphans of theirs too, which only the marker tells from ours.
bool Family::is_member(const Process& process) const {
  if (process.start < since()) return false;
  if (is_spared(process)) return false;
  if (scope_.before.empty() || process.parent != scope_.root.pid) return true;
  return std::ranges::find(scope_.before, process) == scope_.before.end() &&
         is_marked(process.pid, scope_.marker) == Marked::yes;
}

bool Family::is_spared(const Process& process) const {
  return scope_.guards == Guards::spared && is_guard_or_keeper(process);
}

// Forked by an rlock, and met before it had its name.
bool Family::has_become_guard(const PinnedProcess& member) const {
  if (!member.process().name.starts_with("rlock")) return false;
  const auto now = read_process(member.process().pid);
  return now && is_spared(*now);
}

void Family::add_pinned(PinnedProcess member) {
  if (!known_.insert(member.process().pid).second) return;
  ++met_;
  if (is_killing_) member.send(SIGSTOP);
  members_.push_back(std::move(member));
}

void Family::keep_only(const std::function<bool(PinnedProcess&)>& is_left) {
  std::erase_if(members_, [&](PinnedProcess& member) {
    if (is_left(member)) return false;
    known_.erase(member.process().pid);
    return true;
  });
}

bool Family::is_over() {
  keep_only([](PinnedProcess& member) { return member.is_alive(); });
  return members_.empty();
}

bool Family::finds_nobody(Instant until) {
  for (int empty = 0; empty < min_empty_looks; ++empty) {
    if (empty > 0) pause_between_looks();
    if (look(until) != Looked::complete || !is_over()) return false;
  }
  return true;
}

// The descriptor is opened before anything is read: as long as it says that its process lives, all that is read of that
// pid is of that process.
Looked Family::meet(pid_t pid, const Process* parent, const Children& children) {
  auto fd = open_pid(pid);
  if (!fd && errno == ESRCH) return Looked::cut_short;
  auto process = read_process(pid);
  if (!process && lacks_descriptors()) {
    fd.reset();
    process = read_process(pid);
    if (!process && lacks_descriptors()) return Looked::blind;
  }
  if (!process) {
    // Hidden from us (hidepid): its parent's list says that it is there.
    std::vector<pid_t> siblings;
    if (!parent || !fd || children.append(*parent, siblings) != Looked::complete ||
        std::ranges::find(siblings, pid) == siblings.end()) {
      return Looked::cut_short;
    }
    process = Process{.pid = pid, .parent = parent->pid};
  } else if (parent && process->parent != parent->pid) {
    return Looked::cut_short;
  } else if (process->is_dead() || !is_member(*process)) {
    return Looked::complete;
  } else if (fd && !may_hold(fd)) {
    add_pinned(PinnedProcess(std::move(*process), {}));
    return Looked::complete;
  }
  if (!fd || !base::is_readable(fd.get())) add_pinned(PinnedProcess(std::move(*process), std::move(fd)));
  return Looked::complete;
}

Looked Family::look_below(Instant until) {
  if (!sees_processes()) return Looked::blind;
  // Where every core is busy, an ordinary process may get no turn until a deadline is over.
  std::optional<Ordinary> ordinary;
  if (is_killing_ || from_ != Children::From::lists || members_.size() > few) ordinary.emplace();
  keep_only([&](PinnedProcess& member) {
    if (!member.refresh()) return false;
    if (!is_spared(member.process())) return true;
    if (is_killing_) member.send(SIGCONT);
    return false;
  });
  const Children children(from_, until);
  auto result = children.looked();
  if (result == Looked::blind) return result;
  const auto first = root();
  if (first && scope_.root.start == 0) scope_.root.start = first->start;
  std::vector<pid_t> found;
  for (std::size_t i = first ? 0 : 1; i <= members_.size(); ++i) {
    const auto parent = i == 0 ? *first : members_[i - 1].process();
    found.clear();
    const auto looked = children.append(parent, found);
    if (looked == Looked::blind) return looked;
    // Of a hidden process nothing is listed. Its children are ours when it has ended.
    if (looked != Looked::complete && parent.start != 0) result = looked;
    if (found.empty()) continue;
    // If the process is still the same after the read, these are its own children, not those of a later process with
    // its pid.
    if (!(i == 0 ? root().has_value() : members_[i - 1].is_alive())) {
      result = Looked::cut_short;
      continue;
    }
    for (const auto pid : found) {
      if (BootClock::now() >= until) return Looked::cut_short;
      if (pid == left_out_ || pid == ::getpid() || is_known(pid)) continue;
      errno = 0;
      const auto met = meet(pid, &parent, children);
      if (met == Looked::blind) return met;
      if (met != Looked::complete) result = met;
    }
  }
  return result;
}

Looked Family::look(Instant until) {
  const auto below = look_below(until);
  if (scope_.adopts || scope_.marker.empty() || below == Looked::blind) return below;
  return std::max(below, search(until));
}

// A dead root's children, and all orphans of its family since, have the new parent that its guard has: the nearest
// process above us that is not younger than the root. nullopt: its children cannot be listed.
std::optional<std::vector<pid_t>> Family::orphans_of_root() const {
  if (!scope_.adopts || from_ != Children::From::lists) return std::nullopt;
  auto parent = read_process(::getppid());
  while (parent && parent->start > scope_.root.start) parent = read_process(parent->parent);
  std::vector<pid_t> orphans;
  if (!parent || *parent == scope_.root) return std::nullopt;
  const Children children(from_, base::never);
  if (children.append(*parent, orphans) != Looked::complete) return std::nullopt;
  return orphans;
}

Looked Family::search(Instant until) {
  if (!sees_processes()) return Looked::blind;
  const Ordinary ordinary;
  auto orphans = root() ? std::nullopt : orphans_of_root();
  const bool is_walk = !orphans;
  auto pids = is_walk ? all_processes() : std::move(*orphans);
  if (is_walk && pids.empty()) return Looked::blind;
  sort_newest_first(pids);
  if (!is_killing_) searched_.clear();
  const Children children(Children::From::lists, base::never);
  for (std::size_t i = 0; i < pids.size(); ++i) {
    const auto pid = pids[i];
    if (is_known(pid) || searched_.contains(pid) || pid == left_out_ || pid == ::getpid()) continue;
    if (BootClock::now() >= until) return Looked::cut_short;
    errno = 0;
    // The one read that most processes cost.
    const auto marked = is_marked(pid, scope_.marker);
    if (marked == Marked::unknown && lacks_descriptors()) return Looked::blind;
    if (marked == Marked::no) {
      searched_.insert(pid);
      continue;
    }
    if (marked == Marked::yes) {
      if (meet(pid, nullptr, children) == Looked::blind) return Looked::blind;
      if (!is_known(pid)) searched_.insert(pid);
    } else if (const auto process = read_process(pid); process) {
      const bool is_older = process->start < since();
      // Another user's perhaps, whose children may be ours.
      if (!is_older && !is_walk) (void)children.append(*process, pids);
      if (is_older || process->is_dead()) searched_.insert(pid);
    }
  }
  return Looked::complete;
}

std::optional<bool> Family::is_childless() const {
  const auto children = own_children();
  if (!children || !scope_.adopts) return std::nullopt;
  if (!sees_processes()) {
    // They have other numbers in there, but are as many.
    return scope_.before.empty() ? std::optional(children->size() == (left_out_ != 0 ? 1U : 0U)) : std::nullopt;
  }
  return std::ranges::all_of(*children, [&](pid_t pid) {
    if (pid == left_out_) return true;
    const auto is_it = [&](const PinnedProcess& member) { return member.process().pid == pid && member.is_alive(); };
    if (std::ranges::any_of(members_, is_it)) return false;
    const auto process = read_process(pid);
    return process && !is_member(*process);
  });
}

std::optional<Process> Family::signal(int number) const {
  std::optional<Process> refused;
  for (const auto& member : members_) {
    if (!has_become_guard(member) && member.send(number) == EPERM) refused = member.process();
  }
  return refused;
}

std::optional<Process> Family::signal_all_but(int number, pid_t except) const {
  std::optional<Process> refused;
  std::unordered_set<pid_t> served;
  for (const auto& member : members_) {
    const auto& process = member.process();
    const bool is_served = served.contains(process.parent);
    if (Signals::asks_to_end(number) && (is_served || is_run(process))) served.insert(process.pid);
    if (!is_served && process.pid != except && member.send(number) == EPERM) refused = process;
  }
  return refused;
}

bool Family::kill_all(Instant give_up) {
  signal(SIGKILL);
  const Ordinary ordinary;
  searched_.clear();
  is_killing_ = true;
  for (int empty = 0; empty < min_empty_looks;) {
    const auto met = met_;
    auto looked = look(give_up);
    if (looked != Looked::blind && scope_.adopts && !scope_.marker.empty() && !root()) {
      looked = std::max(looked, search(give_up));
      if (met != met_) look_below(give_up);
    }
    signal(SIGKILL);
    empty = met == met_ && is_over() && looked == Looked::complete ? empty + 1 : 0;
    if (BootClock::now() >= give_up) return members_.empty() && looked != Looked::blind;
    pause_between_looks();
  }
  is_killing_ = false;
  return true;
}

std::vector<Process> children_so_far() {
  // Nearly always there are none, which this says at once.
  siginfo_t info{};
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) return {};
  std::vector<Process> result;
  if (!sees_processes()) return result;
  const auto self = read_process(::getpid());
  std::vector<pid_t> pids;
  if (self) (void)Children(Children::best(), base::never).append(*self, pids);
  for (const auto pid : pids) {
    if (auto process = read_process(pid)) result.push_back(std::move(*process));
  }
  return result;
}

}  // namespace rlock::process
