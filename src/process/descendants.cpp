#include "process/descendants.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "base/number.hpp"
#include "base/read.hpp"
#include "base/text.hpp"

namespace rlock::process {

using base::BootClock;
using base::Instant;

std::optional<std::string> read_file(const std::string& path) {
  const base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  return base::read_all(fd.get());
}

namespace {

bool lacks_descriptors() { return errno == EMFILE || errno == ENFILE; }

std::string directory_of(pid_t pid) { return "/proc/" + std::to_string(pid); }

// The numbers among the names in a directory; nullopt where it cannot be read.
std::optional<std::vector<pid_t>> numbers_in(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (!directory) return std::nullopt;
  std::vector<pid_t> numbers;
  while (const auto* entry = ::readdir(directory.get())) {
    if (const auto number = base::parse_number<pid_t>(entry->d_name)) numbers.push_back(*number);
  }
  return numbers;
}

// All processes; empty where /proc cannot be read, or is that of another namespace.
std::vector<pid_t> all_processes() {
  auto pids = numbers_in("/proc").value_or(std::vector<pid_t>{});
  if (std::ranges::find(pids, ::getpid()) == pids.end()) pids.clear();
  return pids;
}

constexpr const char* own_children = "/proc/thread-self/children";

bool knows_children() { return ::access(own_children, R_OK) == 0; }

void append_pids(std::string_view text, std::vector<pid_t>& pids) {
  while (!text.empty()) {
    if (const auto pid = base::parse_number<pid_t>(base::take_word(text))) pids.push_back(*pid);
  }
}

// The children of all its threads.
Looked append_children(const Process& process, std::vector<pid_t>& children) {
  const auto tasks = directory_of(process.pid) + "/task";
  std::vector<pid_t> threads{process.pid};
  if (process.threads > 1) {
    auto listed = numbers_in(tasks);
    if (!listed) return lacks_descriptors() ? Looked::blind : Looked::cut_short;
    threads = std::move(*listed);
  }
  auto looked = Looked::complete;
  for (const auto thread : threads) {
    const auto text = read_file(tasks + "/" + std::to_string(thread) + "/children");
    if (text) {
      append_pids(*text, children);
    } else if (lacks_descriptors()) {
      return Looked::blind;
    } else {
      looked = Looked::cut_short;  // it has ended
    }
  }
  return looked;
}

Looked look_through_children(std::span<const Process> roots, pid_t except, Instant until, const Found& found) {
  std::vector<Process> parents(roots.begin(), roots.end());
  std::unordered_set<pid_t> met;
  for (const auto& root : roots) met.insert(root.pid);
  std::vector<pid_t> children;
  auto result = Looked::complete;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const auto parent = parents[i];
    children.clear();
    const auto looked = append_children(parent, children);
    if (looked == Looked::blind) return looked;
    if (looked != Looked::complete) result = looked;
    if (children.empty()) continue;
    // If the process is still the same after the read, these are its own children, not those of a later process with
    // its pid.
    if (const auto now = read_process(parent.pid); !now || !(*now == parent)) {
      result = Looked::cut_short;
      continue;
    }
    for (const auto pid : children) {
      if (BootClock::now() >= until) return Looked::cut_short;
      if (pid == except || met.contains(pid)) continue;
      errno = 0;
      const auto child = read_process(pid);
      if (!child && lacks_descriptors()) return Looked::blind;
      if (!child || child->parent != parent.pid) {
        result = Looked::cut_short;
      } else if (!child->is_dead()) {
        found(*child);
        parents.push_back(*child);
        met.insert(pid);
      }
    }
  }
  return result;
}

// The process that was started last, since pids are given out in order; 0 if unknown.
pid_t newest_pid() {
  const auto text = read_file("/proc/loadavg").value_or("");
  std::string_view last(text);
  if (last.ends_with('\n')) last.remove_suffix(1);
  return base::parse_number<pid_t>(last.substr(last.rfind(' ') + 1)).value_or(0);
}

}  // namespace

Marked is_marked(pid_t pid, const std::string& marker) {
  const auto environment = read_file(directory_of(pid) + "/environ");
  if (!environment || environment->empty()) return Marked::unknown;
  return environment->contains(marker) ? Marked::yes : Marked::no;
}

// "PID (COMM) STATE PPID … STARTTIME …": COMM may hold anything, so fields count from the last ')'.
std::optional<Process> read_process(pid_t pid) {
  const auto text = read_file(directory_of(pid) + "/stat");
  if (!text) return std::nullopt;
  const auto close = text->rfind(')');
  if (close == std::string::npos || close + 2 >= text->size()) return std::nullopt;
  std::string_view rest(*text);
  rest.remove_prefix(close + 2);
  Process process;
  process.pid = pid;
  process.state = rest.front();
  constexpr int parent_field = 4;
  constexpr int threads_field = 20;
  constexpr int start_field = 22;
  for (int field = 3; !rest.empty() && field <= start_field; ++field) {
    const auto word = base::take_word(rest);
    const auto read = [&]<class T>(T& number) { number = base::parse_number<T>(word).value_or(0); };
    if (field == parent_field) read(process.parent);
    if (field == threads_field) read(process.threads);
    if (field == start_field) read(process.start);
  }
  return process;
}

bool is_alive(const Process& process) {
  const auto now = read_process(process.pid);
  return now && *now == process && !now->is_dead();
}

bool send_signal(const Process& process, int number) {
  const base::Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!fd && errno == ESRCH) return false;
  // The pidfd refers to the process that has the pid now; the start time, read after that, proves that it is the right
  // one.
  const auto now = read_process(process.pid);
  if (!now || !(*now == process)) return false;
  if (fd && ::syscall(SYS_pidfd_send_signal, fd.get(), number, nullptr, 0) == 0) return true;
  // A kernel without pidfds, or one that denies them. Another process could get this signal only if this one ended just
  // now and all other pids were given out before the next line.
  return ::kill(process.pid, number) == 0;
}

Looked look_below(std::span<const Process> roots, pid_t except, Instant until, const Found& found) {
  return knows_children() ? look_through_children(roots, except, until, found)
                          : look_everywhere(roots, except, until, found);
}

Looked look_everywhere(std::span<const Process> roots, pid_t except, Instant until, const Found& found) {
  const auto pids = all_processes();
  if (pids.empty()) return Looked::blind;
  auto result = Looked::complete;
  std::vector<Process> all;
  for (const auto pid : pids) {
    if (BootClock::now() >= until) {
      result = Looked::cut_short;
      break;
    }
    errno = 0;
    const auto process = read_process(pid);
    if (!process && lacks_descriptors()) return Looked::blind;
    if (process) all.push_back(*process);
  }
  std::ranges::sort(all, {}, &Process::parent);
  std::vector<Process> parents;
  std::unordered_set<pid_t> met;
  for (const auto& root : roots) {
    if (std::ranges::find(all, root) == all.end()) continue;
    parents.push_back(root);
    met.insert(root.pid);
  }
  for (std::size_t i = 0; i < parents.size(); ++i) {
    for (const auto& child : std::ranges::equal_range(all, pid_t{parents[i].pid}, {}, &Process::parent)) {
      if (child.pid == except || child.is_dead() || !met.insert(child.pid).second) continue;
      found(child);
      parents.push_back(child);
    }
  }
  return result;
}

std::chrono::nanoseconds time_of_a_look() {
  if (knows_children()) return std::chrono::nanoseconds::zero();
  const auto start = BootClock::now();
  look_everywhere({}, 0, base::never, [](const Process&) {});
  return BootClock::now() - start;
}

// The kernel lists a thread's children one by one, so a list that shrinks while it is read may have gaps. Our own list
// only grows at its end, since no other thread reaps. Orphans become children of the main thread.
std::optional<bool> has_no_child(pid_t except) {
  const auto text = read_file(own_children);
  if (!text) return std::nullopt;
  std::vector<pid_t> children;
  append_pids(*text, children);
  return std::ranges::all_of(children, [&](pid_t child) { return child == except; });
}

Looked MarkedSearch::round(Instant until, const Found& found) {
  const auto newest = newest_pid();
  auto pids = all_processes();
  if (pids.empty()) return Looked::blind;
  // From the newest pid downwards, then from the highest: the processes we look for are recent.
  std::ranges::sort(pids, std::ranges::greater{});
  const auto older = std::ranges::find_if(pids, [&](pid_t pid) { return pid <= newest; });
  std::ranges::rotate(pids, older);
  for (const auto pid : pids) {
    if (seen_.contains(pid)) continue;
    if (BootClock::now() >= until) return Looked::cut_short;
    errno = 0;
    const auto process = read_process(pid);
    if (!process && lacks_descriptors()) return Looked::blind;
    if (!process) continue;
    const auto marked = process->start < since_ || process->is_dead() ? Marked::no : is_marked(pid, marker_);
    if (marked != Marked::unknown) seen_.insert(pid);
    if (marked == Marked::yes) found(*process);
  }
  return Looked::complete;
}

}  // namespace rlock::process
