#include "stores/redis/locate/local_server.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/descriptors.hpp"
#include "base/fd.hpp"
#include "net/socket.hpp"

namespace rlock::redis {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr auto start_limit = std::chrono::seconds(15);
constexpr int max_starts = 3;  // by one caller; a directory that is removed meanwhile needs fewer
constexpr std::array programs{"redis-server", "valkey-server"};
constexpr const char* socket_name = "server.sock";

bool is_ours_alone(const struct stat& st) {
  return S_ISDIR(st.st_mode) && st.st_uid == ::geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Whether every user may make a directory there, and nobody may replace that of another.
bool is_shared(const char* path) {
  struct stat st{};
  return ::lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == 0 && (st.st_mode & S_ISVTX) != 0 &&
         (st.st_mode & S_IWOTH) != 0;
}

// Independent of the environment, so that a login, cron and a service of one user find the same server (docs/decisions/
// local-server.md lists the alternatives). /run/lock is not private to a service, and no cleaner empties it; /tmp is
// used if only root can write /run/lock.
std::string directory_of_user() {
  const auto name = "/rlock-" + std::to_string(::geteuid());
  struct stat st{};
  if (::geteuid() == 0 && ::lstat("/run", &st) == 0 && is_ours_alone(st)) return "/run" + name;
  return (is_shared("/run/lock") ? "/run/lock" : "/tmp") + name;
}

std::string directory_of(const std::string& socket) { return socket.substr(0, socket.rfind('/')); }

// In a directory without the sticky bit that others can write, they could replace our directory by theirs.
Result<void> check_parent(const std::string& directory) {
  const auto parent = directory_of(directory);
  struct stat st{};
  if (::stat(parent.c_str(), &st) != 0) return base::fail_errno(ErrorCode::configuration, "local: " + parent);
  const bool is_safe_owner = st.st_uid == 0 || st.st_uid == ::geteuid();
  const bool is_safe_mode = (st.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (st.st_mode & S_ISVTX) != 0;
  if (is_safe_owner && is_safe_mode) return {};
  return fail(ErrorCode::configuration,
              "local: others can write " + parent + "; make it root's, with mode 1777 (chmod 1777 " + parent + ")");
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
  const auto address = net::unix_address(socket);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0) return Answer::yes;
  return errno == ENOENT || errno == ECONNREFUSED ? Answer::nobody : Answer::unclear;
}

// In a fresh child: become nobody's child and the server. Reports a failure as errno through `report`.
//
// Paths are relative to the directory itself: a server whose directory was removed must not touch, when it ends, the
// socket of the next one at the same path. The server inherits the locked directory, and so holds the lock for life.
[[noreturn]] void become_server(const std::string& program, int directory, int report) {
  ::setsid();
  if (const auto pid = ::fork(); pid != 0) ::_exit(pid < 0 ? 1 : 0);

  // Dispositions and the mask are whatever the caller of rlock had; the server wants neither.
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::umask(077);
  (void)!::fchdir(directory);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  // Move both first: either may be one of the five descriptors that are set below.
  directory = ::fcntl(directory, F_DUPFD_CLOEXEC, 5);
  report = ::fcntl(report, F_DUPFD_CLOEXEC, 5);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, 0);
  ::dup2(null, 1);
  ::dup2(null, 2);
  ::dup2(directory, 3);
  ::dup3(report, 4, O_CLOEXEC);
  base::close_descriptors(5, base::max_descriptor);

  const std::array<const char*, 20> argv{
      program.c_str(), "--port",      "0",  "--unixsocket", socket_name,  "--unixsocketperm",
      "700",           "--save",      "",   "--appendonly", "no",         "--maxmemory-policy",
      "noeviction",    "--daemonize", "no", "--logfile",    "server.log", "--pidfile",
      "server.pid",    nullptr};
  const std::array<const char*, 2> environment{"LC_ALL=C", nullptr};
  ::execve(program.c_str(), const_cast<char* const*>(argv.data()), const_cast<char* const*>(environment.data()));
  const int error = errno;
  (void)!::write(4, &error, sizeof error);
  ::_exit(1);
}

Result<void> spawn(const std::string& program, int directory) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail_errno(ErrorCode::internal, "pipe");
  base::Fd result(ends[0]);
  base::Fd report(ends[1]);
  const auto child = ::fork();
  if (child < 0) return base::fail_errno(ErrorCode::internal, "fork");
  if (child == 0) become_server(program, directory, report.get());
  report.reset();
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  int error = 0;
  if (::read(result.get(), &error, sizeof error) != sizeof error) return {};
  return fail(ErrorCode::unreachable, "local: cannot start " + program + ": " + std::strerror(error));
}

enum class Start { not_our_turn, started };

// Starts a server where none lives in the directory of `socket`. A server holds the lock of its directory from before
// it is one until the kernel has ended it, so there is one at most, and nobody else is starting one.
Result<Start> start_alone(const std::string& socket) {
  const auto directory = directory_of(socket);
  const base::Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat opened{};
  struct stat found{};
  if (!fd || ::fstat(fd.get(), &opened) != 0 || !is_ours_alone(opened)) return Start::not_our_turn;
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return Start::not_our_turn;
  // The lock is that of a directory that may have been removed meanwhile.
  if (::lstat(directory.c_str(), &found) != 0 || found.st_dev != opened.st_dev || found.st_ino != opened.st_ino) {
    return Start::not_our_turn;
  }
  if (probe(socket) != Answer::nobody) return Start::not_our_turn;
  const auto program = find_program();
  if (program.empty()) {
    return fail(ErrorCode::configuration,
                "local: neither redis-server nor valkey-server is installed; apt-get install redis-server");
  }
  RLOCK_TRY(spawn(program, fd.get()));
  return Start::started;
}

}  // namespace

Result<std::string> local_socket() {
  const auto directory = directory_of_user();
  RLOCK_TRY(check_parent(directory));
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return base::fail_errno(ErrorCode::configuration, "local: cannot make " + directory);
  }
  struct stat st{};
  if (::lstat(directory.c_str(), &st) != 0) {
    return base::fail_errno(ErrorCode::configuration, "local: cannot look at " + directory);
  }
  if (is_ours_alone(st)) return directory + "/" + socket_name;
  if (st.st_uid != ::geteuid()) {
    return fail(ErrorCode::configuration, "local: " + directory + " belongs to the user " + std::to_string(st.st_uid) +
                                              ", and only root can remove it: ask root for rm -r " + directory);
  }
  if (!S_ISDIR(st.st_mode)) {
    return fail(ErrorCode::configuration, "local: " + directory + " is not a directory; rm " + directory);
  }
  return fail(ErrorCode::configuration, "local: others can write " + directory + "; chmod 700 " + directory);
}

Result<void> start_local_server(const std::string& socket, base::Poller& poller) {
  const auto give_up = base::BootClock::now() + start_limit;
  int starts = 0;
  while (probe(socket) == Answer::nobody) {
    if (base::BootClock::now() >= give_up) {
      const auto pid_file = directory_of(socket) + "/server.pid";
      return fail(ErrorCode::unreachable, "local: a server runs, but does not answer at " + socket +
                                              "; end it (kill $(cat " + pid_file + ")), and its locks with it");
    }
    RLOCK_TRY(local_socket());  // makes the directory again, should somebody have removed it
    const auto start = RLOCK_TRY(start_alone(socket));
    if (start == Start::started && ++starts > max_starts) {
      return fail(ErrorCode::unreachable,
                  "local: the server does not stay up; see server.log in the directory of " + socket);
    }
    if (poller.wait({}, base::BootClock::now() + std::chrono::milliseconds(5)) == base::Readiness::interrupted) {
      return base::interrupted();
    }
  }
  return {};
}

LocalServer LocalServer::at(const std::string& socket) {
  LocalServer server;
  struct stat st{};
  if (::lstat(socket.c_str(), &st) == 0) {
    server.device_ = st.st_dev;
    server.inode_ = st.st_ino;
  }
  return server;
}

void LocalServer::reached_by(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) pid_ = peer.pid;
}

bool LocalServer::is_behind(const std::string& socket) const {
  struct stat st{};
  return ::lstat(socket.c_str(), &st) == 0 && st.st_dev == device_ && st.st_ino == inode_;
}

bool LocalServer::is_gone_from(const std::string& socket) const {
  return !is_behind(socket) || probe(socket) == Answer::nobody;
}

}  // namespace rlock::redis
