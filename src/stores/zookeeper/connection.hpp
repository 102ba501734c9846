#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "net/channel.hpp"

namespace rlock::zookeeper {

/// Frames of ZooKeeper over a channel. In place of one that is longer than max_frame there is a message that says so
/// (Code::too_long). Any failure leaves the connection unusable: drop it.
class Connection {
 public:
  explicit Connection(net::Channel channel) : channel_(std::move(channel)) {}

  base::Result<void> send(std::string_view frames, base::Wait wait);
  /// The next frame, without its length.
  base::Result<std::string> next(base::Wait wait);
  /// The next frame of what has come, without waiting; nullopt: there is no whole one.
  base::Result<std::optional<std::string>> poll();
  /// Whether something has come that poll() has not returned, and that does not make the descriptor readable.
  bool has_received() const { return !received_.empty(); }

  /// Whether something has come that is not ZooKeeper's protocol.
  bool is_foreign() const { return is_foreign_; }

  int fd() const { return channel_.fd(); }

 private:
  base::Result<std::optional<std::string>> take();
  std::optional<std::string> pass_over();

  net::Channel channel_;
  std::string received_;
  std::optional<std::string> instead_;  ///< of a frame that is too long, once all of it has come
  bool is_foreign_ = false;
  std::size_t to_pass_over_ = 0;  ///< bytes of it that are still to come
};

}  // namespace rlock::zookeeper
