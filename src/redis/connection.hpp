#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/poller.hpp"
#include "redis/reply.hpp"
#include "redis/resolve.hpp"

struct redisContext;

namespace rlock::redis {

using Command = std::vector<std::string>;

/// One connected socket that speaks RESP through hiredis. hiredis builds requests and reads replies; the
/// waiting is done here, because its own timeout starts anew with every byte and every EINTR, while
/// `until` means until (R4). Any failure leaves the connection unusable: drop it.
class Connection {
 public:
  /// Tries each address in turn, each for its share of the time left. `name` stands in messages.
  static base::Result<Connection> open(std::span<const SocketAddress> addresses, std::string name, base::Instant until,
                                       base::Poller& poller);

  /// Puts a command behind those not yet sent.
  void append(const Command& command);
  /// Sends all that was appended.
  base::Result<void> send(base::Instant until, base::Poller& poller);
  /// The next reply, pushes included.
  base::Result<Reply> next(base::Instant until, base::Poller& poller);
  /// After a send that failed: the error that the server said before it closed, if any (too many clients).
  std::optional<Reply> last_words();
  /// Reads what has arrived, if anything, without waiting; then a complete reply or nothing.
  base::Result<std::vector<Reply>> drain();

  int fd() const;

 private:
  struct Free {
    void operator()(redisContext* context) const;
  };
  Connection(redisContext* context, std::string name) : context_(context), name_(std::move(name)) {}
  base::Result<std::unique_ptr<Reply>> parse();
  base::Result<void> wait(short events, base::Instant until, base::Poller& poller);
  base::Result<void> receive();

  std::unique_ptr<redisContext, Free> context_;
  std::string name_;
  std::size_t unparsed_ = 0;  ///< bytes received since the last complete reply
};

}  // namespace rlock::redis
