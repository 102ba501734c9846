#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "forged_socket.hpp"
#include "jute_bytes.hpp"
#include "stores/zookeeper/address.hpp"
#include "stores/zookeeper/jute.hpp"

namespace rlock::zookeeper {

/// The answer to a greeting: a session of so many milliseconds.
inline std::string welcome(std::int32_t timeout_ms) {
  return text(number(0) + number(timeout_ms) + std::string(8, '\1') + text(std::string(16, 'p')) + '\0');
}
/// An answer that is ok, to the request of this number.
inline std::string answer(std::int32_t to, const std::string& body) {
  return text(number(to) + std::string(12, '\0') + body);
}

/// A member of ZooKeeper that says what a test wants.
class ForgedMember {
 public:
  /// Given one frame of a connection, the first of which is a greeting; returns what to send now.
  using Conversation = std::function<std::string(std::string_view frame, bool is_greeting)>;

  /// `begin` makes the conversation of each connection, as that of ForgedSocket.
  explicit ForgedMember(std::function<Conversation()> begin)
      : socket_([begin = std::move(begin)] {
          return [say = begin(), bytes = std::string(), is_first = true](std::string_view received) mutable {
            bytes += received;
            ForgedSocket::Reply reply;
            bool is_broken = false;
            while (auto frame = take_frame(bytes, is_broken)) {
              reply.bytes += say(*frame, std::exchange(is_first, false));
            }
            return reply;
          };
        }) {}

  Address address() const {
    Address address;
    address.socket = socket_.path();
    return address;
  }

 private:
  ForgedSocket socket_;
};

}  // namespace rlock::zookeeper
