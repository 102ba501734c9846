#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "forged_socket.hpp"

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

  explicit ForgedGateway(Answer answer) : answer_(std::move(answer)) {}

  const std::string& path() const { return socket_.path(); }
  std::size_t connections() const { return socket_.connections(); }
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
  /// Takes the first request from `received`; nothing where it has not arrived in full.
  static std::optional<Request> take_request(std::string& received) {
    const auto end = received.find("\r\n\r\n");
    const auto length = received.find("Content-Length: ");
    if (end == received.npos || length > end) return std::nullopt;
    const auto body = static_cast<std::size_t>(std::atol(received.c_str() + length + 16));
    if (received.size() < end + 4 + body) return std::nullopt;
    Request request{received.substr(0, end + 2), received.substr(end + 4, body)};
    received.erase(0, end + 4 + body);
    return request;
  }

  ForgedSocket::Reply answer(std::string& received) {
    ForgedSocket::Reply said;
    while (!said.closes) {
      const auto request = take_request(received);
      if (!request) break;
      {
        const std::scoped_lock lock(mutex_);
        asked_ += (asked_.empty() ? "" : " ") + request->head.substr(5, request->head.find(' ', 5) - 5);
      }
      said.bytes += answer_(*request);
      said.closes = said.bytes.ends_with("CLOSE");
      if (said.closes) said.bytes.resize(said.bytes.size() - 5);
    }
    return said;
  }

  ForgedSocket::Conversation begin() {
    return [this, received = std::string()](std::string_view more) mutable { return answer(received.append(more)); };
  }

  Answer answer_;
  std::mutex mutex_;
  std::string asked_;
  ForgedSocket socket_{[this] { return begin(); }};
};

}  // namespace rlock
