#include "process/proc.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <memory>
#include <string_view>

#include "base/read.hpp"
#include "base/text/number.hpp"
#include "base/text/text.hpp"
#include "base/wait/poller.hpp"

namespace rlock::process {

using base::BootClock;
using base::Instant;

namespace {

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

std::vector<pid_t> numbers_of(std::string_view text) {
  std::vector<pid_t> numbers;
  while (!text.empty()) {
    if (const auto number = base::parse_number<pid_t>(base::take_word(text))) numbers.push_back(*number);
  }
  return numbers;
}

constexpr const char* children_of_this_thread = "/proc/thread-self/children";

// NSpid has a number for each namespace from that of /proc down to ours. Linux before 4.1 does not have the line.
bool find_out_whether_sees_processes() {
  std::string target(PATH_MAX, '\0');
  const auto size = ::readlink("/proc/self", target.data(), target.size());
  if (size < 0 || target.substr(0, static_cast<std::size_t>(size)) != std::to_string(::getpid())) return false;
  const auto status = read_file("/proc/self/status").value_or("");
  constexpr std::string_view label = "\nNSpid:";
  const auto begin = status.find(label);
  if (begin == std::string::npos) return true;
  const auto line = std::string_view(status).substr(begin + label.size());
  return numbers_of(line.substr(0, line.find('\n'))).size() <= 1;
}

}  // namespace

bool sees_processes() {
  static const bool result = find_out_whether_sees_processes();
  return result;
}

std::optional<std::string> read_file(const std::string& path) {
  const base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  return base::read_all(fd.get());
}

bool lacks_descriptors() { return errno == EMFILE || errno == ENFILE; }

// "PID (COMM) STATE PPID … STARTTIME …": COMM may hold anything, so fields count from the last ')'.
std::optional<Process> read_process(pid_t pid) {
  const auto text = read_file(directory_of(pid) + "/stat");
  if (!text) return std::nullopt;
  const auto open = text->find('(');
  const auto close = text->rfind(')');
  if (close == std::string::npos || open > close || close + 2 >= text->size()) return std::nullopt;
  std::string_view rest(*text);
  rest.remove_prefix(close + 2);
  Process process;
  process.pid = pid;
  process.name = text->substr(open + 1, close - open - 1);
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

Marked is_marked(pid_t pid, const std::string& marker) {
  const auto environment = read_file(directory_of(pid) + "/environ");
  if (!environment || environment->empty()) return Marked::unknown;
  return environment->contains(marker) ? Marked::yes : Marked::no;
}

bool runs_our_program(pid_t pid) {
  struct stat theirs{};
  struct stat ours{};
  return ::stat((directory_of(pid) + "/exe").c_str(), &theirs) == 0 && ::stat("/proc/self/exe", &ours) == 0 &&
         theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

bool is_guard_or_keeper(const Process& process) {
  if (!process.name.starts_with("rlock-") || !runs_our_program(process.pid)) return false;
  // The guard of a nested run has the name of a nested run.
  const auto title = read_file(directory_of(process.pid) + "/cmdline").value_or("");
  return title.starts_with("rlock-guard ") || title.starts_with("rlock-keeper ");
}

base::Fd open_pid(pid_t pid) { return base::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

bool PinnedProcess::refresh() {
  if (fd_ && base::is_readable(fd_.get())) return false;
  auto now = read_process(process_.pid);
  if (!now) return static_cast<bool>(fd_) || lacks_descriptors();
  if (!fd_ && (!(*now == process_) || now->is_dead())) return false;
  process_ = std::move(*now);
  return true;
}

bool PinnedProcess::is_alive() const {
  if (fd_) return !base::is_readable(fd_.get());
  const auto now = read_process(process_.pid);
  return now && *now == process_ && !now->is_dead();
}

int PinnedProcess::send(int number) const {
  if (fd_) {
    if (::syscall(SYS_pidfd_send_signal, fd_.get(), number, nullptr, 0) == 0) return 0;
    if (errno == ESRCH) return ESRCH;
  }
  // A kernel without pidfds, or one that denies them. Another process could get this signal only if this one ended just
  // now and all other pids were given out before the last line.
  if (!is_alive()) return ESRCH;
  return ::kill(process_.pid, number) == 0 ? 0 : errno;
}

std::vector<pid_t> all_processes() { return numbers_in("/proc").value_or(std::vector<pid_t>{}); }

Children::From Children::best() { return ::access(children_of_this_thread, R_OK) == 0 ? From::lists : From::walk; }

Children::Children(From from, Instant until) : from_(from) {
  if (from_ == From::lists) return;
  for (const auto pid : all_processes()) {
    if (BootClock::now() >= until) {
      looked_ = Looked::cut_short;
      break;
    }
    errno = 0;
    auto process = read_process(pid);
    if (!process && lacks_descriptors()) {
      looked_ = Looked::blind;
      break;
    }
    if (process) all_.push_back(std::move(*process));
  }
  std::ranges::sort(all_, {}, &Process::parent);
}

Looked Children::append(const Process& parent, std::vector<pid_t>& children) const {
  if (from_ == From::walk) {
    for (const auto& child : std::ranges::equal_range(all_, parent.pid, {}, &Process::parent)) {
      children.push_back(child.pid);
    }
    return Looked::complete;
  }
  const auto tasks = directory_of(parent.pid) + "/task";
  std::vector<pid_t> threads{parent.pid};
  if (parent.threads > 1) {
    auto listed = numbers_in(tasks);
    if (!listed) return lacks_descriptors() ? Looked::blind : Looked::cut_short;
    threads = std::move(*listed);
  }
  auto looked = Looked::complete;
  for (const auto thread : threads) {
    if (const auto text = read_file(tasks + "/" + std::to_string(thread) + "/children")) {
      const auto numbers = numbers_of(*text);
      children.insert(children.end(), numbers.begin(), numbers.end());
    } else if (lacks_descriptors()) {
      return Looked::blind;
    } else {
      looked = Looked::cut_short;  // it has ended
    }
  }
  return looked;
}

// The kernel lists a thread's children one by one, so a list that shrinks while it is read may have gaps. Our own list
// only grows at its end, since no other thread reaps.
std::optional<std::vector<pid_t>> own_children() {
  const auto text = read_file(children_of_this_thread);
  return text ? std::optional(numbers_of(*text)) : std::nullopt;
}

std::chrono::nanoseconds time_of_a_look() {
  if (Children::best() == Children::From::lists) return std::chrono::nanoseconds::zero();
  const auto start = BootClock::now();
  const Children walk(Children::From::walk, base::never);
  return BootClock::now() - start;
}

}  // namespace rlock::process
