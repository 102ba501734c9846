#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/wait/wait.hpp"
#include "stores/common/secret_files.hpp"
#include "stores/redis/client/connection.hpp"
#include "stores/redis/client/locator.hpp"

namespace rlock::redis {

/// What a connection says first.
struct Greeting {
  std::string user;  ///< empty: the default user
  std::optional<std::string> password;
  int database = 0;
  std::string note{};  ///< what a message adds where it is refused
  stores::SecretSource source{};
};

/// When the greeting is sent.
enum class Greet {
  first,     ///< before the first commands, which wait for its answer
  together,  ///< in one flight with the first commands. If it is refused, the server may have carried them out all the
             ///< same, as another user or in another database: only for a caller that can release what it acquired
};

/// A server and the connection to it, which is made when needed and again after a failure. If the greeting is refused,
/// the connection is closed.
class Session {
 public:
  /// timeout bounds connecting, and waiting for the replies of a flight.
  Session(std::unique_ptr<Locator> locator, Greeting greeting, base::Duration timeout, Greet greet)
      : locator_(std::move(locator)), greeting_(std::move(greeting)), timeout_(timeout), greet_(greet) {}

  /// Sends the commands together and returns their replies in order; error replies are values, but for those of a
  /// server that takes no clients and of a replica (READONLY), which fail with unready: it is asked anew where the
  /// server is. Pushes that arrive in between go to the listener. After an unreachable or interrupted the connection is
  /// gone, and nobody knows which commands were carried out.
  base::Result<std::vector<Reply>> flight(std::span<const Command> commands, base::Wait wait);

  /// The next reply, pushes included: for flights whose replies cannot be counted (SUBSCRIBE).
  base::Result<Reply> next(base::Wait wait);
  /// The next reply that is not a push; pushes before it go to the listener. Fails with unreachable where nothing else
  /// comes until the wait is over.
  base::Result<Reply> next_in_band(base::Wait wait);
  /// Sends commands without reading any reply but those of the greeting. A password that is refused is read again where
  /// it came from (SecretSource), and if it is another one by now, all is sent anew over a new connection.
  base::Result<void> send(std::span<const Command> commands, base::Wait wait);

  /// See Locator::is_private.
  bool is_private() const { return locator_->is_private(); }
  /// See Locator::is_of_cluster.
  bool is_of_cluster() const { return locator_->is_of_cluster(); }
  /// Whether a reply was that another server has the key, and always will (MOVED), and the locator knows the way there:
  /// what was sent can be sent again, and goes to that one, over a new connection.
  bool follow(const Reply& reply);
  /// What to do where the reply was that another server has this key, for this once (ASK): sends the command there.
  /// sent_at() is then of this. Where the reply was another, or the locator does not know the way, nullopt.
  base::Result<std::optional<Reply>> ask(const Reply& reply, const Command& command, base::Wait wait);
  /// That server, as long as the next ask() leads to no other.
  Session& asked() { return *asked_; }

  /// Is called with each push as it comes; none is kept here, so that a server or a co-tenant that never stops
  /// pushing fills no memory (R37 of tests/PROOFS.md). Without a listener they are dropped.
  using Listener = std::function<void(const Reply&)>;
  void on_push(Listener listener) { listener_ = std::move(listener); }
  /// Passes on what was pushed up to now, a part of it where there is much. Call it when one of fds() is readable.
  /// Fails once with unreachable where the connection broke, or leads to a server that is not the one to ask any more.
  base::Result<void> hear();

  /// wait, or the timeout from now where that is sooner.
  base::Wait bounded(base::Wait wait) const { return wait.at_most(base::BootClock::now() + timeout_); }
  base::Duration timeout() const { return timeout_; }

  /// From here on no other server than that of the last connection will do; see Locator::pin. Where it is gone, every
  /// call fails with gone.
  void pin() { locator_->pin(); }

  /// Connects, unless it is connected: for those who have to know the server before they send. What is sent next goes
  /// over this connection.
  base::Result<void> open(base::Wait wait);
  /// See Locator::young_for.
  base::Duration young_for(base::Duration grace) const { return locator_->young_for(grace); }
  /// See Locator::failover_after.
  std::optional<base::Duration> failover_after() const { return locator_->failover_after(); }
  /// When the connection was made, where it is the first one since the server could not be reached, or since a
  /// connection that had stood for a while broke: the server may have restarted meanwhile.
  std::optional<base::Instant> returned_at() const { return returned_at_; }
  void close() { connection_.reset(); }
  bool is_open() const { return connection_.has_value(); }
  /// Which connection stands, counted from 1; 0: none. What was asked of one (a subscription) is not known to the next.
  std::uint64_t connection() const { return connection_ ? connections_ : 0; }
  /// The address of the server that the last connection was made to, to compare; empty where it is not known.
  const std::string& peer() const { return peer_; }
  /// What tells of news: the connection, and where the locator has one, that which tells of another server. Empty where
  /// there is no connection.
  std::vector<int> fds() const;
  /// When the last flight's first byte was about to be sent: where a lease counts from (R3 of tests/PROOFS.md).
  base::Instant sent_at() const { return sent_at_; }
  /// Whether the last request, begun when the session had sent at `before`, went out and was not answered: it may have
  /// been carried out.
  template <class T>
  bool is_unanswered(const base::Result<T>& result, base::Instant before) const {
    return !result && result.error().code == base::ErrorCode::unreachable && sent_at_ != before;
  }
  /// For messages; holds no password.
  const std::string& name() const { return locator_->name(); }

 private:
  base::Result<void> connect(base::Wait wait);
  base::Result<base::Fd> connect_socket(net::Target& target, base::Wait wait);
  std::vector<Command> greeting_commands() const;
  base::Result<void> send_once(std::span<const Command> commands, base::Wait wait);
  base::Error refusal_of(const Command& greeting, const Reply& reply);
  bool has_new_password();
  base::Result<void> start(std::span<const Command> greeting, std::span<const Command> commands, base::Wait wait);
  template <class T>
  base::Result<T> dropped(base::Error error);
  base::Error replaced() const;

  std::unique_ptr<Locator> locator_;
  Greeting greeting_;
  base::Duration timeout_;
  Greet greet_;
  Reason reason_ = Reason::first;
  std::optional<Connection> connection_;
  bool is_chosen_ = false;   ///< open() was called since the last send()
  bool is_greeted_ = false;  ///< on this connection
  bool is_password_refused_ = false;
  std::uint64_t connections_ = 0;  ///< made so far
  std::string peer_;
  base::Instant connected_at_{};
  bool was_away_ = false;  ///< no connection was made since
  std::optional<base::Instant> returned_at_;
  Listener listener_;
  std::unique_ptr<Session> asked_;
  std::string asked_at_;  ///< its HOST:PORT
  base::Instant sent_at_{};
};

}  // namespace rlock::redis
