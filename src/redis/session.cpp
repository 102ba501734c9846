#include "redis/session.hpp"

#include <algorithm>
#include <utility>

namespace rlock::redis {

using base::ErrorCode;
using base::Instant;
using base::Result;

namespace {

// Said in place of the first answer by a server that then closes the connection.
bool turns_away(const Reply& reply) { return reply.is_error() && reply.text.starts_with("ERR max number of clients"); }

}  // namespace

Instant Session::bounded(Instant until) const { return std::min(until, base::BootClock::now() + timeout_); }

template <class T>
Result<T> Session::dropped(base::Error error) {
  connection_.reset();
  return std::unexpected(std::move(error));
}

Result<void> Session::connect(Instant until, base::Poller& poller) {
  pushes_.clear();
  if (address_.is_local && address_.path.empty()) {
    auto path = local_socket();
    if (!path) return std::unexpected(path.error());
    address_.path = *path;
  }
  // What worked last time first, so that a dead resolver takes no lock away; a fresh look every other
  // time, because names move.
  if (resolved_.empty() || resolve_anew_) {
    auto addresses = resolve(address_, until, poller);
    if (!addresses) {
      resolve_anew_ = false;
      return std::unexpected(addresses.error());
    }
    resolved_ = std::move(*addresses);
  }
  auto connection =
      address_.is_local ? connect_local(until, poller) : Connection::open(resolved_, name_, until, poller);
  resolve_anew_ = !connection && !resolve_anew_;
  if (!connection) return std::unexpected(connection.error());
  connection_ = std::move(*connection);
  return {};
}

Result<Connection> Session::connect_local(Instant until, base::Poller& poller) {
  const auto gone = [this] {
    return base::fail(ErrorCode::gone, "the " + name_ + " server is gone, and its locks are");
  };
  const bool must_be_the_same = on_demand_ == OnDemand::leave && local_;
  auto found = LocalServer::at(address_.path);
  auto connection = Connection::open(resolved_, name_, until, poller);
  if (!connection && connection.error().code == ErrorCode::unreachable) {
    if (must_be_the_same && local_->is_gone_from(address_.path)) return gone();
    if (on_demand_ == OnDemand::start) {
      RLOCK_TRY(start_local_server(address_.path, poller));
      found = LocalServer::at(address_.path);
      connection = Connection::open(resolved_, name_, bounded(base::never), poller);
    }
  }
  if (!connection) return connection;
  found.reached_by(connection->fd());
  if (must_be_the_same && found != local_) return gone();
  local_ = found;
  return connection;
}

std::vector<Command> Session::greeting() const {
  std::vector<Command> commands;
  if (address_.password) {
    commands.push_back(address_.user.empty() ? Command{"AUTH", *address_.password}
                                             : Command{"AUTH", address_.user, *address_.password});
  }
  if (address_.database != 0) commands.push_back({"SELECT", std::to_string(address_.database)});
  return commands;
}

Result<void> Session::send(std::span<const Command> commands, Instant until, base::Poller& poller) {
  until = bounded(until);
  std::vector<Command> greeting;
  // Who comes now meets whatever is behind the path.
  if (connection_ && local_ && !local_->is_behind(address_.path)) connection_.reset();
  if (!connection_) {
    if (auto connected = connect(until, poller); !connected) return connected;
    greeting = this->greeting();
    if (!together_ && !greeting.empty()) {
      if (auto greeted = start(greeting, {}, until, poller); !greeted) return greeted;
      greeting.clear();
    }
  }
  return start(greeting, commands, until, poller);
}

Result<void> Session::start(std::span<const Command> greeting, std::span<const Command> commands, Instant until,
                            base::Poller& poller) {
  for (const auto& command : greeting) connection_->append(command);
  for (const auto& command : commands) connection_->append(command);
  if (!commands.empty()) sent_at_ = base::BootClock::now();
  if (auto sent = connection_->send(until, poller); !sent) {
    if (const auto why = connection_->last_words()) return dropped<void>(error_of(*why, name_));
    return dropped<void>(sent.error());
  }

  std::optional<base::Error> refusal;
  for (std::size_t i = 0; i < greeting.size(); ++i) {
    auto reply = next(until, poller);
    if (!reply) return std::unexpected(reply.error());
    if (reply->is_error() && !refusal) refusal = error_of(*reply, name_);
  }
  if (refusal) return dropped<void>(std::move(*refusal));
  return {};
}

Result<Reply> Session::next(Instant until, base::Poller& poller) {
  auto reply = connection_->next(bounded(until), poller);
  if (!reply) return dropped<Reply>(reply.error());
  if (turns_away(*reply)) return dropped<Reply>(error_of(*reply, name_));
  return reply;
}

Result<std::vector<Reply>> Session::flight(std::span<const Command> commands, Instant until, base::Poller& poller) {
  until = bounded(until);
  if (auto sent = send(commands, until, poller); !sent) return std::unexpected(sent.error());
  std::vector<Reply> replies;
  while (replies.size() < commands.size()) {
    auto reply = next_in_band(until, poller);
    if (!reply) return std::unexpected(reply.error());
    replies.push_back(std::move(*reply));
  }
  return replies;
}

Result<Reply> Session::next_in_band(Instant until, base::Poller& poller) {
  while (true) {
    auto reply = next(until, poller);
    if (!reply || reply->kind != Reply::Kind::push) return reply;
    pushes_.push_back(std::move(*reply));
  }
}

Result<std::vector<Reply>> Session::pushes() {
  auto result = std::exchange(pushes_, {});
  auto fresh = connection_->drain();
  if (!fresh) return dropped<std::vector<Reply>>(fresh.error());
  std::ranges::move(*fresh, std::back_inserter(result));
  return result;
}

}  // namespace rlock::redis
