#include "redis/local_server.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/fd.hpp"

namespace rlock::redis {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr auto start_limit = std::chrono::seconds(15);
constexpr std::array programs{"redis-server", "valkey-server"};

bool is_ours_alone(const struct stat& st) {
  return S_ISDIR(st.st_mode) && st.st_uid == ::geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string base_directory() {
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime == '/') {
    return std::string(runtime) + "/rlock";
  }
  // What the login of the same user sees as XDG_RUNTIME_DIR: cron must meet it there.
  const auto uid = std::to_string(::geteuid());
  struct stat st{};
  const auto run = "/run/user/" + uid;
  if (::lstat(run.c_str(), &st) == 0 && is_ours_alone(st)) return run + "/rlock";
  return "/tmp/rlock-" + uid;
}

// In a directory that others may write, and that is not sticky, they could put theirs in place of ours.
Result<void> check_parent(const std::string& directory) {
  const auto parent = directory.substr(0, directory.rfind('/'));
  struct stat st{};
  if (::stat(parent.c_str(), &st) != 0) return base::fail_errno(ErrorCode::configuration, "local: " + parent);
  const bool safe_owner = st.st_uid == 0 || st.st_uid == ::geteuid();
  const bool safe_mode = (st.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (st.st_mode & S_ISVTX) != 0;
  if (safe_owner && safe_mode) return {};
  return fail(ErrorCode::configuration,
              "local: others can write " + parent + "; set XDG_RUNTIME_DIR to a directory of your own (mode 0700)");
}

std::string find_program() {
  const char* from_environment = std::getenv("PATH");
  std::string path = from_environment != nullptr ? from_environment : "";
  path += ":/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";  // cron's PATH is short
  for (const auto* program : programs) {
    for (std::size_t start = 0; start <= path.size();) {
      const auto end = std::min(path.find(':', start), path.size());
      const auto candidate = path.substr(start, end - start) + "/" + program;
      if (candidate.front() == '/' && ::access(candidate.c_str(), X_OK) == 0) return candidate;
      start = end + 1;
    }
  }
  return {};
}

enum class Answer { yes, nobody, unclear };

Answer probe(const std::string& socket) {
  base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return Answer::unclear;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return Answer::yes;
  return errno == ENOENT || errno == ECONNREFUSED ? Answer::nobody : Answer::unclear;
}

// In a fresh child: become nobody's child and the server. Reports a failure as errno through `report`.
[[noreturn]] void become_server(const std::string& program, const std::string& directory, const std::string& socket,
                                int report) {
  ::setsid();
  if (const auto pid = ::fork(); pid != 0) ::_exit(pid < 0 ? 1 : 0);

  // Dispositions and the mask are whatever the caller of rlock had; the server wants neither.
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::umask(077);
  (void)!::chdir(directory.c_str());
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, 0);
  ::dup2(null, 1);
  ::dup2(null, 2);
  const int kept = ::dup3(report, 3, O_CLOEXEC) < 0 ? report : 3;
  ::close_range(4, ~0U, 0);

  const auto log = directory + "/server.log";
  const std::array<const char*, 18> argv{
      program.c_str(), "--port",      "0",  "--unixsocket", socket.c_str(), "--unixsocketperm",
      "700",           "--save",      "",   "--appendonly", "no",           "--maxmemory-policy",
      "noeviction",    "--daemonize", "no", "--logfile",    log.c_str(),    nullptr};
  const std::array<const char*, 2> environment{"LC_ALL=C", nullptr};
  ::execve(program.c_str(), const_cast<char* const*>(argv.data()), const_cast<char* const*>(environment.data()));
  const int error = errno;
  (void)!::write(kept, &error, sizeof error);
  ::_exit(1);
}

Result<void> spawn(const std::string& program, const std::string& socket) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail_errno(ErrorCode::internal, "pipe");
  base::Fd result(ends[0]);
  base::Fd report(ends[1]);
  const auto child = ::fork();
  if (child < 0) return base::fail_errno(ErrorCode::internal, "fork");
  if (child == 0) become_server(program, socket.substr(0, socket.rfind('/')), socket, report.get());
  report.reset();
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  int error = 0;
  if (::read(result.get(), &error, sizeof error) != sizeof error) return {};
  return fail(ErrorCode::unreachable, "local: cannot start " + program + ": " + std::strerror(error));
}

}  // namespace

Result<std::string> local_socket() {
  const auto directory = base_directory();
  if (auto checked = check_parent(directory); !checked) return std::unexpected(checked.error());
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return base::fail_errno(ErrorCode::configuration, "local: cannot make " + directory);
  }
  struct stat st{};
  if (::lstat(directory.c_str(), &st) != 0 || !is_ours_alone(st)) {
    return fail(ErrorCode::configuration, "local: " + directory +
                                              " is not a directory that only you can write; remove it, or set "
                                              "XDG_RUNTIME_DIR to a directory of your own (mode 0700)");
  }
  auto socket = directory + "/server.sock";
  if (socket.size() >= sizeof(sockaddr_un::sun_path)) {
    return fail(ErrorCode::configuration, "local: " + socket +
                                              " is too long for a socket; set a shorter "
                                              "XDG_RUNTIME_DIR");
  }
  return socket;
}

Result<void> start_local_server(const std::string& socket, base::Poller& poller) {
  const auto give_up = base::BootClock::now() + start_limit;
  const auto pause = [&] {
    return poller.wait({}, base::BootClock::now() + std::chrono::milliseconds(5)) != base::Readiness::interrupted;
  };

  // Held by whoever starts the server until it answers; all others wait here, then find it.
  const auto gate_path = socket + ".start";
  base::Fd gate(::open(gate_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!gate) return base::fail_errno(ErrorCode::configuration, "local: cannot open " + gate_path);
  while (::flock(gate.get(), LOCK_EX | LOCK_NB) != 0) {
    if (base::BootClock::now() >= give_up) return fail(ErrorCode::unreachable, "local: its start takes too long");
    if (!pause()) return fail(ErrorCode::interrupted, "interrupted");
  }
  if (probe(socket) != Answer::nobody) return {};

  const auto program = find_program();
  if (program.empty()) {
    return fail(ErrorCode::unreachable,
                "local: neither redis-server nor valkey-server is installed; apt-get install redis-server");
  }
  if (auto spawned = spawn(program, socket); !spawned) return spawned;
  while (probe(socket) != Answer::yes) {
    if (base::BootClock::now() >= give_up) {
      return fail(ErrorCode::unreachable, "local: " + program + " did not come up; see server.log beside " + socket);
    }
    if (!pause()) return fail(ErrorCode::interrupted, "interrupted");
  }
  return {};
}

}  // namespace rlock::redis
