#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait/wait.hpp"
#include "net/channel.hpp"
#include "stores/redis/client/reply.hpp"

struct redisReader;

namespace rlock::redis {

using Command = std::vector<std::string>;

/// RESP over a stream. hiredis reads the replies; the waiting is the channel's, because hiredis' own timeout starts
/// anew with every byte and every EINTR. Any failure leaves the connection unusable: drop it.
class Connection {
 public:
  /// Does the handshake of the stream. `name` stands for the server in messages.
  static base::Result<Connection> open(std::unique_ptr<net::Stream> stream, std::string name, net::Place place,
                                       base::Wait wait);

  /// Puts a command behind those not yet sent.
  void append(const Command& command);
  /// Sends all that was appended.
  base::Result<void> send(base::Wait wait) { return channel_.send(wait); }
  /// The next reply, pushes included.
  base::Result<Reply> next(base::Wait wait);
  /// After a send that failed: the reason that the server gave before it closed, if it did (too many clients; over TLS,
  /// that it wants a certificate).
  std::optional<base::Error> last_words();
  /// Reads what has arrived, if anything, without waiting; returns the complete replies in it. Reads no more than some
  /// 64 kB: what is left makes the descriptor readable again.
  base::Result<std::vector<Reply>> drain();

  int fd() const { return channel_.fd(); }

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };
  explicit Connection(net::Channel channel);
  base::Result<void> feed(std::string_view bytes);
  base::Result<std::optional<Reply>> parse();

  net::Channel channel_;
  std::unique_ptr<redisReader, Free> reader_;
  std::size_t unparsed_ = 0;  ///< bytes received since the last complete reply
};

/// Of the hiredis inside: 1.2.0.
std::string hiredis_version();

}  // namespace rlock::redis
