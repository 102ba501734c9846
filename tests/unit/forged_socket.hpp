#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "base/wait/event.hpp"

namespace rlock {

/// A Unix socket at which a thread serves all who connect: what a forged server and a forged gateway share.
class ForgedSocket {
 public:
  struct Reply {
    std::string bytes{};
    bool closes = false;  ///< the connection, behind the bytes
  };
  /// Given what has arrived of one connection, in pieces of any size; says what to send now.
  using Conversation = std::function<Reply(std::string_view received)>;

  /// `begin` makes the conversation of each connection. It and they are called on the thread of this object.
  explicit ForgedSocket(std::function<Conversation()> begin) : begin_(std::move(begin)) {
    std::string directory = (std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp");
    directory += "/rlock-forged-XXXXXX";
    directory_ = ::mkdtemp(directory.data());
    path_ = directory_ + "/s";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    listener_ = base::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
    if (::listen(listener_.get(), 16) != 0) std::abort();
    thread_ = std::jthread([this] { serve(); });
  }
  ForgedSocket(const ForgedSocket&) = delete;
  ForgedSocket& operator=(const ForgedSocket&) = delete;
  ~ForgedSocket() {
    stop_.raise();
    thread_.join();
    ::unlink(path_.c_str());
    ::rmdir(directory_.c_str());
  }

  const std::string& path() const { return path_; }
  /// How many connections are open.
  std::size_t connections() const { return connections_; }

 private:
  struct Client {
    base::Fd fd;
    Conversation converse;
  };

  void serve() {
    std::vector<Client> clients;
    while (true) {
      std::vector<pollfd> fds{{stop_.fd(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      for (const auto& client : clients) fds.push_back({client.fd.get(), POLLIN, 0});
      ::poll(fds.data(), fds.size(), -1);
      if (fds[0].revents != 0) return;
      for (std::size_t i = clients.size(); i-- > 0;) {
        if (fds[i + 2].revents != 0 && !serve(clients[i])) clients.erase(clients.begin() + static_cast<long>(i));
      }
      if (fds[1].revents != 0)
        clients.push_back({base::Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)), begin_()});
      connections_ = clients.size();
    }
  }

  /// False: the connection is over.
  bool serve(Client& client) {
    char bytes[4096];
    const auto size = ::read(client.fd.get(), bytes, sizeof bytes);
    if (size <= 0) return false;
    const auto reply = client.converse({bytes, static_cast<std::size_t>(size)});
    return send(client.fd.get(), reply.bytes) && !reply.closes;
  }

  bool send(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      pollfd fds[] = {{stop_.fd(), POLLIN, 0}, {fd, POLLOUT, 0}};
      ::poll(fds, 2, -1);
      if (fds[0].revents != 0) return false;
      const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  std::function<Conversation()> begin_;
  std::string directory_;
  std::string path_;
  base::Fd listener_;
  std::atomic<std::size_t> connections_ = 0;
  base::Event stop_ = *base::Event::open();
  std::jthread thread_;
};

}  // namespace rlock
