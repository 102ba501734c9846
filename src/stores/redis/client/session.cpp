#include "stores/redis/client/session.hpp"

#include <algorithm>
#include <utility>

namespace rlock::redis {

using base::BootClock;
using base::ErrorCode;
using base::Result;
using base::Wait;

namespace {

constexpr net::Schemes schemes{.plain = "redis", .tls = "rediss"};

// Said in place of the first answer by a server that then closes the connection.
bool turns_away(const Reply& reply) { return reply.is_error() && reply.text.starts_with("ERR max number of clients"); }

bool is_of_a_replica(const Reply& reply) {
  return reply.is_error() && (reply.error_code() == "READONLY" || reply.error_code() == "MASTERDOWN");
}

// A connection that breaks sooner tells nothing of its server: a proxy may close each behind an answer.
constexpr base::Duration min_standing{300};

// Of ROLE. Where it is denied, a replica shows itself at the first write.
bool is_of_another_role(const Reply& reply) { return !reply.items.empty() && reply.items.front().text != "master"; }

// Broken off as `inner` is, and by news of another server: a master that is frozen and replaced must not use up the
// wait.
class NewsPoller final : public base::Poller {
 public:
  NewsPoller(base::Poller& inner, Locator& locator) : inner_(inner), locator_(locator) {}

  base::Readiness wait(std::span<pollfd> fds, base::Instant until) override {
    while (!locator_.has_news()) {
      const auto watched = locator_.watch_fds();
      if (watched.empty()) return inner_.wait(fds, until);
      std::vector<pollfd> all(fds.begin(), fds.end());
      for (const int fd : watched) all.push_back({fd, POLLIN, 0});
      const auto readiness = inner_.wait(all, until);
      std::copy_n(all.begin(), fds.size(), fds.begin());
      const bool is_asked_for = std::ranges::any_of(fds, [](const pollfd& fd) { return fd.revents != 0; });
      if (readiness != base::Readiness::ready || is_asked_for) return readiness;
      if (BootClock::now() >= until) return base::Readiness::timed_out;
    }
    return base::Readiness::interrupted;
  }

  bool may_spin() const override { return inner_.may_spin(); }

 private:
  base::Poller& inner_;
  Locator& locator_;
};

// The HOST:PORT of "CODE SLOT HOST:PORT".
std::optional<std::string> place_in(const Reply& reply, std::string_view code) {
  if (!reply.is_error() || reply.error_code() != code) return std::nullopt;
  return reply.text.substr(reply.text.rfind(' ') + 1);
}

}  // namespace

template <class T>
Result<T> Session::dropped(base::Error error) {
  if (BootClock::now() >= connected_at_ + min_standing) was_away_ = true;
  connection_.reset();
  return std::unexpected(std::move(error));
}

base::Error Session::replaced() const { return {ErrorCode::unreachable, name() + ": it is not the master any more"}; }

Result<base::Fd> Session::connect_socket(net::Target& target, Wait wait) {
  target = RLOCK_TRY(locator_->locate(std::exchange(reason_, Reason::refused), wait));
  auto socket = net::connect(target.addresses, name(), wait);
  if (!socket && !target.node.empty()) {
    socket = base::fail(socket.error().code, socket.error().message + ", at its node " + target.node);
  }
  if (socket || socket.error().code != ErrorCode::unreachable) return socket;
  const bool is_revived = RLOCK_TRY(locator_->revive(wait));
  if (is_revived) return net::connect(target.addresses, name(), bounded({base::never, wait.poller()}));
  was_away_ = true;
  return socket;
}

Result<void> Session::connect(Wait wait) {
  net::Target target;
  auto socket = RLOCK_TRY(connect_socket(target, wait));
  RLOCK_TRY(locator_->connected(socket.get()));
  peer_ = net::peer_of(socket.get());
  auto stream = RLOCK_TRY(net::stream_to(target, schemes, std::move(socket)));
  connection_ = RLOCK_TRY(Connection::open(std::move(stream), name(), net::place_of(peer_), wait));
  reason_ = Reason::broken;
  is_greeted_ = false;
  ++connections_;
  connected_at_ = BootClock::now();
  if (std::exchange(was_away_, false)) returned_at_ = connected_at_;
  return {};
}

Result<void> Session::open(Wait wait) {
  if (connection_) locator_->check_watch(bounded(wait));
  if (connection_ && locator_->has_moved()) connection_.reset();
  if (!connection_) RLOCK_TRY(connect(bounded(wait)));
  is_chosen_ = true;
  return {};
}

std::vector<Command> Session::greeting_commands() const {
  std::vector<Command> commands;
  if (greeting_.password) {
    commands.push_back(greeting_.user.empty() ? Command{"AUTH", *greeting_.password}
                                              : Command{"AUTH", greeting_.user, *greeting_.password});
  }
  if (greeting_.database != 0) commands.push_back({"SELECT", std::to_string(greeting_.database)});
  // Behind the others, whose refusal says more. A replica takes no writes, so what comes together with it does no harm.
  if (locator_->wants_master()) commands.push_back({"ROLE"});
  return commands;
}

bool Session::has_new_password() {
  return std::exchange(is_password_refused_, false) && greeting_.source.has_changed(greeting_.password);
}

Result<void> Session::send(std::span<const Command> commands, Wait wait) {
  wait = bounded(wait);
  auto sent = send_once(commands, wait);
  if (!sent && has_new_password()) return send_once(commands, wait);
  return sent;
}

Result<void> Session::send_once(std::span<const Command> commands, Wait wait) {
  if (!connection_ || !std::exchange(is_chosen_, false)) RLOCK_TRY(open(wait));
  is_chosen_ = false;
  std::vector<Command> greeting;
  if (!std::exchange(is_greeted_, true)) {
    greeting = greeting_commands();
    const bool can_be_refused = greeting_.password || greeting_.database != 0;
    if (greet_ == Greet::first && can_be_refused) {
      RLOCK_TRY(start(greeting, {}, wait));
      greeting.clear();
    }
  }
  return start(greeting, commands, wait);
}

base::Error Session::refusal_of(const Command& greeting, const Reply& reply) {
  const bool lacks_password = greeting_.password && greeting_.password->empty();
  if (lacks_password) return error_without_password(reply, name());
  auto error = error_of(reply, name());
  if (error.code != ErrorCode::refused) return error;
  is_password_refused_ = greeting.front() == "AUTH";
  if (is_password_refused_ && !greeting_.source.name.empty()) {
    error.message += "; the password comes from " + greeting_.source.name;
  }
  error.message += greeting_.note;
  return error;
}

Result<void> Session::start(std::span<const Command> greeting, std::span<const Command> commands, Wait wait) {
  for (const auto& command : greeting) connection_->append(command);
  for (const auto& command : commands) connection_->append(command);
  if (!commands.empty()) sent_at_ = base::BootClock::now();
  if (auto sent = connection_->send(wait); !sent) {
    if (auto why = connection_->last_words()) return dropped<void>(std::move(*why));
    return dropped<void>(sent.error());
  }

  std::optional<base::Error> refusal;
  for (std::size_t i = 0; i < greeting.size(); ++i) {
    const auto reply = RLOCK_TRY(next(wait));
    if (refusal) continue;
    if (greeting[i].front() == "ROLE") {
      if (!is_of_another_role(reply)) continue;
      reason_ = Reason::demoted;
      refusal = {ErrorCode::unready, name() + ": it is a replica, and still named as the master"};
      continue;
    }
    if (reply.is_error()) refusal = refusal_of(greeting[i], reply);
  }
  if (refusal) return dropped<void>(std::move(*refusal));
  return {};
}

Result<Reply> Session::next(Wait wait) {
  wait = bounded(wait);
  NewsPoller poller(wait.poller(), *locator_);
  auto reply = connection_->next({wait.until(), poller});
  // A master that was frozen and replaced grants what it was asked for before.
  if (locator_->has_news()) return dropped<Reply>(replaced());
  if (!reply) return dropped<Reply>(reply.error());
  if (turns_away(*reply)) return dropped<Reply>(error_of(*reply, name()));
  if (is_of_a_replica(*reply)) {
    reason_ = Reason::demoted;
    return dropped<Reply>(error_of(*reply, name()));
  }
  return reply;
}

Result<std::vector<Reply>> Session::flight(std::span<const Command> commands, Wait wait) {
  wait = bounded(wait);
  RLOCK_TRY(send(commands, wait));
  std::vector<Reply> replies;
  while (replies.size() < commands.size()) {
    auto reply = RLOCK_TRY(next_in_band(wait));
    replies.push_back(std::move(reply));
  }
  return replies;
}

Result<Reply> Session::next_in_band(Wait wait) {
  wait = bounded(wait);
  while (true) {
    auto reply = next(wait);
    if (!reply || reply->kind != Reply::Kind::push) return reply;
    if (listener_) listener_(*reply);
    // They may come faster than they are read, and then nothing has to be waited for.
    if (wait.is_over()) return dropped<Reply>({ErrorCode::unreachable, "no answer from " + name() + " in time"});
  }
}

std::vector<int> Session::fds() const {
  if (!connection_) return {};
  auto fds = locator_->watch_fds();
  fds.push_back(connection_->fd());
  return fds;
}

bool Session::follow(const Reply& reply) {
  const auto place = place_in(reply, "MOVED");
  if (!place || !locator_->redirected(*place)) return false;
  connection_.reset();
  reason_ = Reason::moved;
  return true;
}

Result<std::optional<Reply>> Session::ask(const Reply& reply, const Command& command, Wait wait) {
  const auto place = place_in(reply, "ASK");
  if (!place) return std::nullopt;
  if (!asked_ || asked_at_ != *place) {
    auto locator = locator_->other(*place);
    if (!locator) return std::nullopt;
    asked_ = std::make_unique<Session>(std::move(locator), greeting_, timeout_, Greet::first);
    asked_at_ = *place;
  }
  const std::vector<Command> flight{{"ASKING"}, command};
  auto replies = asked_->flight(flight, wait);
  sent_at_ = asked_->sent_at();
  if (!replies) return std::unexpected(std::move(replies).error());
  return std::move(replies->front().is_error() ? replies->front() : replies->back());
}

Result<void> Session::hear() {
  if (locator_->has_news()) return dropped<void>(replaced());
  const auto pushes = connection_->drain();
  if (!pushes) return dropped<void>(pushes.error());
  if (listener_) std::ranges::for_each(*pushes, std::ref(listener_));
  return {};
}

}  // namespace rlock::redis
