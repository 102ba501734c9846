#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait/wait.hpp"
#include "stores/common/members.hpp"
#include "stores/zookeeper/address.hpp"
#include "stores/zookeeper/connection.hpp"
#include "stores/zookeeper/jute.hpp"
#include "stores/zookeeper/session_id.hpp"

namespace rlock::zookeeper {

/// A session and the connection to a member that carries it. After a failure the next member is asked. Members that
/// cannot be connected to, that close the connection at once or that may only be read are passed over; one that is
/// silent for 2 s, or for the timeout where that is less, fails with unreachable: before it takes us in, or behind
/// that. So does a connection that breaks: nobody knows then which requests were carried out.
class Session {
 public:
  Session(const Address& address, base::Duration timeout);

  /// Makes a new session, of at least 1 ms; id() tells the timeout that the ensemble grants. Sends these behind it in
  /// the same flight: none that makes what ends with the session, which nobody could end if it were not answered.
  base::Result<std::vector<Answer>> create(base::Duration timeout, std::span<const Request> requests, base::Wait wait);
  /// From here on it is this one, which another object or process has made; nothing is connected.
  void take_up(SessionId id);
  /// nullopt: none was made or taken up.
  const std::optional<SessionId>& id() const { return id_; }

  /// What came of requests behind a session that was opened again.
  struct Reopened {
    bool is_expired = false;        ///< this member says; nothing was carried out, and there is no connection
    base::Duration granted{};       ///< from sent_at() on, a majority says, where a request that writes is answered ok
    std::vector<Answer> answers{};  ///< in order
  };
  /// Opens the session again over a new connection, for `timeout`, and sends these behind it in the same flight.
  base::Result<Reopened> reopen(base::Duration timeout, std::span<const Request> requests, base::Wait wait);
  /// Sends these over the connection that stands. Without one fails with unreachable.
  base::Result<std::vector<Answer>> flight(std::span<const Request> requests, base::Wait wait);
  /// Sends one whose answer drain() has: it is not waited for. Returns its number.
  base::Result<std::int32_t> post(const Request& request);
  /// Forgets the session, which goes on.
  void forget();
  /// Ends the session without waiting for the answer, and forgets it. Behind what was answered nothing of it can come
  /// late.
  void close();
  /// Forgets the connection.
  void disconnect() { connection_.reset(); }

  /// What has come without being waited for: events, and answers to post(). Bounded: what is more counts as an event.
  struct News {
    std::vector<Event> events;
    std::vector<Message> answers;
    bool is_empty() const { return events.empty() && answers.empty(); }
  };
  /// Never waits. Fails with unreachable where the connection broke.
  base::Result<News> drain();
  bool has_news() const { return !news_.is_empty(); }

  bool is_open() const { return connection_.has_value(); }
  /// Whether the last failure was a connection that was closed before all was answered: so it is too where another
  /// process opens the same session, which has one connection at a time.
  bool was_cut() const { return was_cut_; }
  /// Which connection stands, counted from 1. What was asked of one (a watch) is not known to the next.
  std::uint64_t connection() const { return connections_; }
  int fd() const { return connection_ ? connection_->fd() : -1; }
  /// Before the first byte of the last connection: where a session that was opened again counts from.
  base::Instant sent_at() const { return sent_at_; }
  base::Duration timeout() const { return timeout_; }
  /// With the password that was read last.
  const Address& address() const { return address_; }
  /// "ZooKeeper at HOST:PORT": of the member that is asked now.
  const std::string& name() const { return members_.name(); }

  /// What an answer other than ok means where the caller expects none of that kind. Drops the connection where
  /// another member may answer otherwise, or a new password is to be tried: unreachable then.
  base::Error error_of(Code code);

 private:
  base::Wait bounded(base::Wait wait) const;
  base::Result<Welcome> connect(const Greeting& greeting, std::span<const Request> requests, base::Wait wait);
  base::Result<Welcome> connect_one(const Greeting& greeting, std::span<const Request> requests, base::Wait wait);
  std::string frames_of(std::span<const Request> requests);
  base::Result<std::vector<Answer>> answers(std::span<const Request> requests, base::Wait wait);
  base::Result<std::optional<Message>> sorted(const std::string& frame);
  void next_member();
  template <class T>
  base::Result<T> dropped(base::Error error);

  Address address_;
  stores::Members members_;
  base::Duration timeout_;
  std::optional<Connection> connection_;
  std::uint64_t connections_ = 0;
  bool was_cut_ = false;
  std::optional<SessionId> id_;
  std::int32_t number_ = 0;     ///< of the last request
  std::int64_t last_seen_ = 0;  ///< the last transaction
  News news_;
  base::Instant sent_at_{};
};

}  // namespace rlock::zookeeper
