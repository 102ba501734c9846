#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/event.hpp"
#include "base/fd.hpp"

namespace rlock {

/// Answers each request with the bytes that `answer` gives for it, "" for silence: what no real gateway would say.
/// Behind "CLOSE" it closes the connection.
class ForgedGateway {
 public:
  struct Request {
    std::string head;  ///< with its lines
    std::string body;
  };
  using Answer = std::function<std::string(const Request& request)>;

  explicit ForgedGateway(Answer answer) : answer_(std::move(answer)) {
    std::string directory = (std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp");
    directory += "/rlock-gateway-XXXXXX";
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
  ForgedGateway(const ForgedGateway&) = delete;
  ForgedGateway& operator=(const ForgedGateway&) = delete;
  ~ForgedGateway() {
    stop_.raise();
    thread_.join();
    ::unlink(path_.c_str());
    ::rmdir(directory_.c_str());
  }

  const std::string& path() const { return path_; }
  /// The paths of the requests so far, with spaces between them.
  std::string asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

  static std::string ok(const std::string& body, const std::string& headers = "") {
    return "HTTP/1.1 200 OK\r\n" + headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  static std::string refusal(int status, int code, const std::string& message) {
    const auto body =
        R"({"error":")" + message + R"(","message":")" + message + R"(","code":)" + std::to_string(code) + "}";
    return "HTTP/1.1 " + std::to_string(status) +
           " No\r\nTransfer-Encoding: chunked\r\nTrailer: Grpc-Trailer-X\r\n\r\n" + chunk(body) +
           "0\r\nGrpc-Trailer-X: y\r\n\r\n";
  }
  static std::string chunk(const std::string& text) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", text.size());
    return size + text + "\r\n";
  }

 private:
  struct Client {
    base::Fd fd;
    std::string received{};
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
    auto& received = client.received;
    received.append(bytes, static_cast<std::size_t>(size));
    while (true) {
      const auto end = received.find("\r\n\r\n");
      const auto length = received.find("Content-Length: ");
      if (end == received.npos || length > end) return true;
      const auto body = static_cast<std::size_t>(std::atol(received.c_str() + length + 16));
      if (received.size() < end + 4 + body) return true;
      const Request request{received.substr(0, end + 2), received.substr(end + 4, body)};
      received.erase(0, end + 4 + body);
      {
        const std::scoped_lock lock(mutex_);
        asked_ += (asked_.empty() ? "" : " ") + request.head.substr(5, request.head.find(' ', 5) - 5);
      }
      auto answer = answer_(request);
      const bool closes = answer.ends_with("CLOSE");
      if (closes) answer.erase(answer.size() - 5);
      if (!send(client.fd.get(), answer) || closes) return false;
    }
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
  std::mutex mutex_;
  std::string asked_;
  std::jthread thread_;
};

}  // namespace rlock
