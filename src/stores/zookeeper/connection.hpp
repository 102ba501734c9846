#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/wait.hpp"
#include "net/stream.hpp"

namespace rlock::zookeeper {

/// Frames of ZooKeeper over a stream. Each wait ends when it says, however many bytes come. Any failure leaves the
/// connection unusable: drop it.
class Connection {
 public:
  /// Does the handshake of the stream. `name` stands for the member in messages.
  static base::Result<Connection> open(std::unique_ptr<net::Stream> stream, std::string name, base::Wait wait);

  base::Result<void> send(std::string_view frames, base::Wait wait);
  /// The next frame, without its length.
  base::Result<std::string> next(base::Wait wait);
  /// The next frame of what has come, without waiting; nullopt: there is no whole one.
  base::Result<std::optional<std::string>> poll();

  /// Whether something has come that poll() has not returned, and that will not make the descriptor readable.
  bool has_received() const { return !received_.empty() || stream_->has_buffered(); }

  int fd() const { return stream_->fd(); }

 private:
  Connection(std::unique_ptr<net::Stream> stream, std::string name)
      : stream_(std::move(stream)), name_(std::move(name)) {}
  base::Result<void> wait_for(short events, base::Wait wait) const;
  base::Result<net::Transfer> receive();
  base::Result<std::optional<std::string>> take();

  std::unique_ptr<net::Stream> stream_;
  std::string name_;
  std::string received_;
};

}  // namespace rlock::zookeeper
