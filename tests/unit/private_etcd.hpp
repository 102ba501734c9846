#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "base/wait/clock.hpp"

namespace rlock {

/// A member of a cluster of its own, on ports of the loopback that nobody else has, until the end of this object.
class PrivateEtcd {
 public:
  static bool is_installed() { return std::system("command -v etcd >/dev/null") == 0; }
  /// nullptr: it does not start.
  static std::unique_ptr<PrivateEtcd> start(const std::vector<std::string>& more = {}) {
    for (int tries = 0; tries < 3; ++tries) {
      auto etcd = std::unique_ptr<PrivateEtcd>(new PrivateEtcd(more));
      if (etcd->is_up()) return etcd;
    }
    return nullptr;
  }
  PrivateEtcd(const PrivateEtcd&) = delete;
  PrivateEtcd& operator=(const PrivateEtcd&) = delete;
  ~PrivateEtcd() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  int port() const { return port_; }

 private:
  explicit PrivateEtcd(const std::vector<std::string>& more) {
    std::string directory = (std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp");
    directory += "/rlock-etcd-XXXXXX";
    directory_ = ::mkdtemp(directory.data());
    const auto [clients, peers] = free_ports();
    port_ = clients;
    const auto ours = "http://127.0.0.1:" + std::to_string(clients);
    const auto theirs = "http://127.0.0.1:" + std::to_string(peers);
    std::vector<std::string> words{"etcd",
                                   "--name=m",
                                   "--data-dir=" + directory_ + "/data",
                                   "--listen-client-urls=" + ours,
                                   "--advertise-client-urls=" + ours,
                                   "--listen-peer-urls=" + theirs,
                                   "--initial-advertise-peer-urls=" + theirs,
                                   "--initial-cluster=m=" + theirs};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const auto log = directory_ + "/log";
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = ::open(log.c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(file, 1);
    ::dup2(file, 2);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }

  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  static std::array<int, 2> free_ports() {
    std::array<int, 2> ports{};
    std::array<base::Fd, 2> sockets;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      sockets[i].reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      auto address = loopback(0);
      socklen_t size = sizeof address;
      if (::bind(sockets[i].get(), reinterpret_cast<sockaddr*>(&address), size) != 0) std::abort();
      ::getsockname(sockets[i].get(), reinterpret_cast<sockaddr*>(&address), &size);
      ports[i] = ntohs(address.sin_port);
    }
    return ports;
  }

  // It listens only when it has elected itself.
  bool is_up() {
    const auto address = loopback(port_);
    const auto until = base::BootClock::now() + std::chrono::seconds(30);
    while (base::BootClock::now() < until) {
      const base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = -1;
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  std::string directory_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace rlock
