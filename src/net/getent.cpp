#include "net/getent.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>

#include "base/descriptors.hpp"
#include "base/fd.hpp"
#include "base/wait/poller.hpp"

namespace rlock::net {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::size_t max_output = 64U << 10U;  // bytes

// A child, by its pidfd. The supervisor reaps any child, this one too: after that, waiting for it fails with ECHILD,
// and its pid may belong to another process.
class Child {
 public:
  explicit Child(pid_t pid) : fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {
    // Reaped before the descriptor was there, that one may be of another process.
    if (!is_ours()) fd_.reset();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  // One that is stuck in the kernel (a file system that hangs) ends when it likes: nobody waits for it.
  ~Child() {
    if (!fd_) return;
    ::syscall(SYS_pidfd_send_signal, fd_.get(), SIGKILL, nullptr, 0);
    pollfd ended{fd_.get(), POLLIN, 0};
    base::PlainPoller().wait({&ended, 1}, base::BootClock::now() + time_to_die);
    if (!reap(fd_.get())) stuck = fd_.release();
  }

  // Whether an earlier one is stuck still: there are to be no more of them meanwhile.
  static bool is_one_stuck() {
    const int fd = stuck.exchange(-1);
    if (fd < 0) return false;
    if (!reap(fd)) {
      stuck = fd;
      return true;
    }
    ::close(fd);
    return false;
  }

 private:
  static constexpr std::chrono::milliseconds time_to_die{100};
  static inline std::atomic<int> stuck{-1};

  // False: it lives. Where somebody else has reaped it, this fails, and it is gone too.
  static bool reap(int fd) {
    siginfo_t ended{};
    return ::waitid(P_PIDFD, static_cast<id_t>(fd), &ended, WEXITED | WNOHANG) != 0 || ended.si_pid != 0;
  }
  bool is_ours() const {
    siginfo_t info{};
    return ::waitid(P_PIDFD, static_cast<id_t>(fd_.get()), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  }

  base::Fd fd_;
};

// What posix_spawn is told, freed with it.
struct Attributes {
  Attributes() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&signals);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&signals);
  }
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t signals{};
};

// Returns 0, or what went wrong as errno says it.
int spawn(const std::string& host, int output, pid_t& pid) {
  Attributes how;
  ::posix_spawn_file_actions_addopen(&how.files, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&how.files, output, 1);
  ::posix_spawn_file_actions_adddup2(&how.files, 0, 2);
  // What our caller left open, for a getent that outlives a killed rlock; ours are closed on exec.
  for (const int fd : base::descriptors_from(3)) ::posix_spawn_file_actions_addclose(&how.files, fd);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&how.signals, &none);
  ::posix_spawnattr_setsigdefault(&how.signals, &all);
  ::posix_spawnattr_setflags(&how.signals, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string name = host;
  std::array<char, 7> program{"getent"};
  std::array<char, 7> database{"ahosts"};
  std::array<char*, 4> argv{program.data(), database.data(), name.data(), nullptr};
  std::array<char, 19> path{"PATH=/usr/bin:/bin"};
  std::array<char*, 2> environment{path.data(), nullptr};
  return ::posix_spawnp(&pid, program.data(), &how.files, &how.signals, argv.data(), environment.data());
}

// "192.0.2.1       STREAM host", and again for each other type of socket.
std::vector<SocketAddress> read_addresses(const std::string& text, std::uint16_t port) {
  std::vector<SocketAddress> addresses;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number;
    std::string type;
    if (!(words >> number >> type) || type != "STREAM") continue;
    if (const auto address = numeric_address(number, port)) addresses.push_back(*address);
  }
  return addresses;
}

}  // namespace

bool knows_more_than_dns() {
  std::ifstream file("/etc/nsswitch.conf");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word) || word != "hosts:") continue;
    while (words >> word) {
      const bool is_action = word.find_first_of("[]=") != std::string::npos;
      if (!is_action && word != "files" && word != "dns") return true;
    }
  }
  return false;
}

base::Result<std::vector<SocketAddress>> ask_getent(const std::string& host, std::uint16_t port, base::Wait wait) {
  const auto unknown = [&](const std::string& why) { return fail(ErrorCode::unreachable, why); };
  if (host.starts_with('-')) return unknown("not a name");
  if (Child::is_one_stuck()) return unknown("an earlier getent is stuck in the kernel");
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return base::fail_errno(ErrorCode::internal, "pipe");
  const base::Fd output(ends[0]);
  base::Fd theirs(ends[1]);
  pid_t pid = 0;
  if (const int error = spawn(host, theirs.get(), pid); error != 0) {
    errno = error;
    return base::fail_errno(ErrorCode::unreachable, "getent");
  }
  const Child child(pid);
  theirs.reset();

  std::string text;
  while (text.size() < max_output) {
    pollfd readable{output.get(), POLLIN, 0};
    switch (wait({&readable, 1})) {
      case base::Readiness::interrupted:
        return base::interrupted();
      case base::Readiness::timed_out:
        return fail(ErrorCode::unreachable, "no answer from the resolver");
      case base::Readiness::ready:
        break;
    }
    std::array<char, 4096> part{};
    const auto n = ::read(output.get(), part.data(), part.size());
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(n));
  }
  auto addresses = read_addresses(text, port);
  if (addresses.empty()) return unknown("nobody knows the name");
  return addresses;
}

}  // namespace rlock::net
