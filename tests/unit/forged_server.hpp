#pragma once

#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/event.hpp"
#include "base/fd.hpp"
#include "stores/redis/client/session.hpp"
#include "stores/redis/locate/fixed_locator.hpp"

namespace rlock {

/// Answers each command with the bytes that `answer` gives for it: what no real server would say.
class ForgedServer {
 public:
  using Answer = std::function<std::string(const std::vector<std::string>& command)>;

  explicit ForgedServer(Answer answer) : answer_(std::move(answer)) {
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
  ForgedServer(const ForgedServer&) = delete;
  ForgedServer& operator=(const ForgedServer&) = delete;
  ~ForgedServer() {
    stop_.raise();
    thread_.join();
    ::unlink(path_.c_str());
    ::rmdir(directory_.c_str());
  }

  redis::Session session(base::Duration timeout) const {
    redis::Address address;
    address.transport = redis::Transport::unix_socket;
    address.path = path_;
    return {std::make_unique<redis::FixedLocator>(address), {}, timeout, redis::Greet::first};
  }

 private:
  struct Client {
    base::Fd fd;
    std::unique_ptr<redisReader, void (*)(redisReader*)> reader{::redisReaderCreate(), ::redisReaderFree};
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
        clients.push_back({base::Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC))});
    }
  }

  bool serve(Client& client) {
    char bytes[4096];
    const auto size = ::read(client.fd.get(), bytes, sizeof bytes);
    if (size <= 0) return false;
    ::redisReaderFeed(client.reader.get(), bytes, static_cast<std::size_t>(size));
    void* object = nullptr;
    while (::redisReaderGetReply(client.reader.get(), &object) == REDIS_OK && object != nullptr) {
      auto* reply = static_cast<redisReply*>(object);
      std::vector<std::string> command;
      for (std::size_t i = 0; i < reply->elements; ++i) {
        command.emplace_back(reply->element[i]->str, reply->element[i]->len);
      }
      ::freeReplyObject(reply);
      if (!send(client.fd.get(), answer_(command))) return false;
    }
    return true;
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

  Answer answer_;
  std::string directory_;
  std::string path_;
  base::Fd listener_;
  base::Event stop_ = *base::Event::open();
  std::jthread thread_;
};

}  // namespace rlock
