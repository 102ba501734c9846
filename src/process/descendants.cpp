#include "process/descendants.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/fd.hpp"

namespace rlock::process {
namespace {

std::string read_file(const std::string& path) {
  base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> buffer{};
  while (fd) {
    const auto n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

// "PID (COMM) STATE PPID … STARTTIME …": COMM may hold anything, so fields count from the last ')'.
std::optional<Process> read_process(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat");
  const auto close = text.rfind(')');
  if (close == std::string::npos || close + 2 >= text.size()) return std::nullopt;
  std::string_view rest(text);
  rest.remove_prefix(close + 2);
  Process process{pid, 0, rest.front(), 0};
  constexpr int parent_field = 4;
  constexpr int start_field = 22;
  for (int field = 3; !rest.empty() && field <= start_field; ++field) {
    const auto word = rest.substr(0, rest.find(' '));
    if (field == parent_field) std::from_chars(word.data(), word.data() + word.size(), process.parent);
    if (field == start_field) std::from_chars(word.data(), word.data() + word.size(), process.start);
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return process;
}

enum class Marked { yes, no, vanished };

Marked is_marked(pid_t pid, const std::string& variable) {
  const auto environment = read_file("/proc/" + std::to_string(pid) + "/environ");
  std::string_view rest(environment);
  while (!rest.empty()) {
    const auto entry = rest.substr(0, rest.find('\0'));
    if (entry == variable) return Marked::yes;
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
  }
  if (!environment.empty()) return Marked::no;
  const auto now = read_process(pid);
  return now && !now->is_zombie() ? Marked::no : Marked::vanished;
}

struct Seen {
  Process process;
  bool is_root = false;
};

}  // namespace

// A walk over all of /proc: /proc/PID/task/TID/children would be cheaper, but kernels may lack it and it may leave
// entries out. The environment is read right behind the parent: between the two, a process could exit and take the
// only trace of its children along.
Descendants descendants_of(const Roots& roots, pid_t except) {
  Descendants result;
  std::vector<Seen> all;
  DIR* directory = ::opendir("/proc");
  if (directory == nullptr) return {{}, false, true};
  bool saw_ourselves = false;
  while (const auto* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    errno = 0;
    const auto process = read_process(pid);
    if (!process) {
      if (errno == EMFILE || errno == ENFILE) result.blind = true;
      continue;
    }
    saw_ourselves = saw_ourselves || pid == ::getpid();
    bool is_root = (roots.parent != 0 && process->parent == roots.parent) ||
                   std::ranges::find(roots.known, *process) != roots.known.end();
    if (!is_root && !roots.environment.empty() && !process->is_zombie()) {
      const auto marked = is_marked(pid, roots.environment);
      is_root = marked == Marked::yes;
      if (marked == Marked::vanished) result.certain = false;
    }
    all.push_back({*process, is_root});
  }
  ::closedir(directory);
  result.blind = result.blind || !saw_ourselves;

  auto& found = result.living;
  const auto add = [&](const Process& process) {
    if (process.pid != except && std::ranges::find(found, process) == found.end()) found.push_back(process);
  };
  for (const auto& seen : all) {
    if (seen.is_root) add(seen.process);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto above = found[i].pid;
    for (const auto& [process, is_root] : all) {
      if (process.parent == above) add(process);
    }
  }
  std::erase_if(found, [](const Process& process) { return process.is_zombie(); });
  return result;
}

bool send_signal(const Process& process, int number) {
  const base::Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!fd) return false;
  // The pidfd names whoever has the pid now; only then is a look at its start time proof.
  const auto now = read_process(process.pid);
  if (!now || !(*now == process)) return false;
  return ::syscall(SYS_pidfd_send_signal, fd.get(), number, nullptr, 0) == 0;
}

}  // namespace rlock::process
