#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/poller.hpp"
#include "redis/address.hpp"
#include "redis/connection.hpp"
#include "redis/local_server.hpp"

namespace rlock::redis {

/// Whether a `local` server that is not there is started.
enum class OnDemand { start, leave };

/// A server, and the connection to it that is made when needed and made anew after a failure. Authentication and the
/// choice of the database, the greeting, come before the first commands; where they are refused the connection is
/// not used again.
class Session {
 public:
  /// timeout bounds connecting, and waiting for the replies of a flight.
  Session(Address address, base::Duration timeout, OnDemand on_demand)
      : address_(std::move(address)), name_(address_.display()), timeout_(timeout), on_demand_(on_demand) {}

  /// Sends the commands together and returns their replies in order; error replies are values. Pushes
  /// that arrive in between are kept for pushes(). After an unreachable or interrupted the connection is
  /// gone, and nobody knows which commands were carried out.
  base::Result<std::vector<Reply>> flight(std::span<const Command> commands, base::Instant until, base::Poller& poller);

  /// The next reply, pushes included: for flights whose replies cannot be counted (SUBSCRIBE).
  base::Result<Reply> next(base::Instant until, base::Poller& poller);
  /// The next reply that is no push; pushes before it are kept.
  base::Result<Reply> next_in_band(base::Instant until, base::Poller& poller);
  /// Sends commands without reading any reply but those of authentication.
  base::Result<void> send(std::span<const Command> commands, base::Instant until, base::Poller& poller);

  /// What was pushed up to now. Call it when fd() is readable.
  base::Result<std::vector<Reply>> pushes();

  /// From here on a `local` server that is not there is not started, nor is another one taken for it: in the midst of
  /// a run its loss is the loss of every lock on it, and an error of its own (gone).
  void never_start() { on_demand_ = OnDemand::leave; }

  /// From here on the first commands of a connection travel in one flight with the greeting. Where that is refused they
  /// may have been carried out all the same, as another user or in another database: for who can undo that, which goes
  /// the same way, and acts under a token of his own alone.
  void greet_together() { together_ = true; }

  /// `until`, or the timeout from now where that is sooner.
  base::Instant bounded(base::Instant until) const;
  base::Duration timeout() const { return timeout_; }

  void close() { connection_.reset(); }
  bool is_open() const { return connection_.has_value(); }
  int fd() const { return connection_ ? connection_->fd() : -1; }
  /// When the last flight's first byte was about to be sent: where a lease counts from (R3).
  base::Instant sent_at() const { return sent_at_; }
  /// For messages; holds no password.
  const std::string& name() const { return name_; }
  const Address& address() const { return address_; }

 private:
  base::Result<void> connect(base::Instant until, base::Poller& poller);
  base::Result<Connection> connect_local(base::Instant until, base::Poller& poller);
  std::vector<Command> greeting() const;
  base::Result<void> start(std::span<const Command> greeting, std::span<const Command> commands, base::Instant until,
                           base::Poller& poller);
  template <class T>
  base::Result<T> dropped(base::Error error);

  Address address_;
  std::string name_;
  base::Duration timeout_;
  OnDemand on_demand_;
  bool together_ = false;
  std::optional<Connection> connection_;
  std::vector<SocketAddress> resolved_;  ///< of the last connection that worked
  bool resolve_anew_ = false;
  std::optional<LocalServer> local_;  ///< of the last connection that worked, where it is `local`
  std::vector<Reply> pushes_;
  base::Instant sent_at_{};
};

}  // namespace rlock::redis
