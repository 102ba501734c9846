#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/channel.hpp"

struct http_parser;

namespace rlock::net {

/// What a server has answered: of its head what rlock needs.
struct HttpAnswer {
  int status = 0;    ///< 0: none has come yet
  std::string date;  ///< the header Date as it is; empty: there is none
  std::string body;
  bool is_too_long = false;  ///< over 8 MiB: the body was passed over
};

/// Reads answers out of bytes as they come: with a length or in chunks, which may have trailers. Of one that has
/// neither, and so ends with its connection, the body is left out. One that is too long is read to its end all the
/// same, so that those behind it can be read.
class HttpReader {
 public:
  HttpReader();

  /// Takes bytes up to the end of an answer at most, and returns how many. Fails with unreachable where they are not
  /// HTTP, or too many; then it takes no more.
  base::Result<std::size_t> feed(std::string_view bytes);
  /// Whether an answer is complete: take() it before the next feed().
  bool is_complete() const { return is_complete_; }
  /// The complete answer; the next one begins. Of one that is not complete what has come of it since the last take().
  HttpAnswer take();

 private:
  struct Callbacks;
  struct Free {
    void operator()(http_parser* parser) const;
  };

  std::unique_ptr<http_parser, Free> parser_;
  HttpAnswer answer_;
  std::string field_;  ///< the name of the header that is read; what is longer than any that counts is cut off
  bool is_in_value_ = false;
  bool is_complete_ = false;
  std::size_t size_ = 0;  ///< bytes fed since the last take()
};

/// The client's end of HTTP/1.1: POST with a body, more than one at a time where somebody wants that. Any failure
/// leaves it unusable: drop it.
class Http {
 public:
  /// host: for the header of this name.
  Http(Channel channel, std::string host) : channel_(std::move(channel)), host_(std::move(host)) {}

  /// Puts a request behind those not yet sent. headers: whole lines, each with its \r\n.
  void post(std::string_view path, std::string_view headers, std::string_view body);
  /// Sends all that was put.
  base::Result<void> send(base::Wait wait) { return channel_.send(wait); }
  /// The next answer, in the order of the requests.
  base::Result<HttpAnswer> next(base::Wait wait);

  /// What has come of an answer that goes on and on, without waiting: see Channel::drain. The status is 0 as long as
  /// there is none. Fails with unreachable where it has ended.
  base::Result<HttpAnswer> drain();
  /// Whether the server has closed the connection, or said what nobody has asked for. Call it where no answer is due.
  bool is_stale();

  int fd() const { return channel_.fd(); }

 private:
  base::Result<void> parse();

  Channel channel_;
  std::string host_;
  HttpReader reader_;
  std::string unread_;  ///< received, of the answers behind a complete one
};

/// Of the parser inside: 2.9.4.
std::string http_parser_version_text();

}  // namespace rlock::net
