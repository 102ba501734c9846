#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/wait.hpp"
#include "net/stream.hpp"
#include "stores/redis/client/reply.hpp"

struct redisReader;

namespace rlock::redis {

using Command = std::vector<std::string>;

/// Where a server runs, as far as its address tells.
enum class Place { this_machine, elsewhere };

/// RESP over a stream. hiredis reads the replies; the waiting is done here, because hiredis' own timeout starts anew
/// with every byte and every EINTR, while a Wait ends when it says (R4 of tests/PROOFS.md). Any failure leaves the
/// connection unusable: drop it.
class Connection {
 public:
  /// Does the handshake of the stream. `name` stands for the server in messages.
  static base::Result<Connection> open(std::unique_ptr<net::Stream> stream, std::string name, Place place,
                                       base::Wait wait);

  /// Puts a command behind those not yet sent.
  void append(const Command& command);
  /// Sends all that was appended.
  base::Result<void> send(base::Wait wait);
  /// The next reply, pushes included.
  base::Result<Reply> next(base::Wait wait);
  /// After a send that failed: the reason that the server gave before it closed, if it did (too many clients; over TLS,
  /// that it wants a certificate).
  std::optional<base::Error> last_words();
  /// Reads what has arrived, if anything, without waiting; returns the complete replies in it. Reads no more than some
  /// 64 kB: what is left makes the descriptor readable again.
  base::Result<std::vector<Reply>> drain();

  int fd() const { return stream_->fd(); }

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };
  Connection(std::unique_ptr<net::Stream> stream, std::string name, Place place);
  base::Result<std::optional<Reply>> parse();
  base::Result<void> wait_for(short events, base::Wait wait) const;
  base::Result<net::Transfer> spin(base::Wait wait);
  base::Result<net::Transfer> receive();
  base::Error lost(const base::Error& error) const;

  std::unique_ptr<net::Stream> stream_;
  std::unique_ptr<redisReader, Free> reader_;
  std::string name_;
  Place place_;
  std::string unsent_;
  bool has_answered_ = false;
  bool has_spun_ = false;     ///< with success, since the last send
  std::size_t unparsed_ = 0;  ///< bytes received since the last complete reply
};

/// Of the hiredis inside: 1.2.0.
std::string hiredis_version();

}  // namespace rlock::redis
