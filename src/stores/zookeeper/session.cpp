#include "stores/zookeeper/session.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text/text.hpp"

namespace rlock::zookeeper {

using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::fail;
using base::Result;
using base::Wait;

namespace {

// For what one member is asked: the others have to have their turn while the lease lasts.
constexpr Duration member_timeout{2'000};
// A member that never stops telling fills no memory.
constexpr std::size_t max_news = 1'000;

// Of no request.
constexpr std::int32_t no_number = 0;

// Never 0 or less, which others have.
std::int32_t following(std::int32_t number) { return number % std::numeric_limits<std::int32_t>::max() + 1; }
std::int32_t before(std::int32_t number) { return number > 1 ? number - 1 : std::numeric_limits<std::int32_t>::max(); }

// Those of requests that were sent, the last of which that has one of its own has `last`.
std::vector<std::int32_t> numbers_of(std::span<const Request> requests, std::int32_t last) {
  std::vector<std::int32_t> numbers(requests.size(), number_of_ping);
  for (auto i = requests.size(); i-- > 0;) {
    if (requests[i].op == Request::Op::ping) continue;
    numbers[i] = last;
    last = before(last);
  }
  return numbers;
}

// Of what failed over a connection that stood.
bool is_cut(const base::Error& error, const Connection& connection, Wait wait) {
  return error.code == ErrorCode::unreachable && !connection.is_foreign() && !wait.is_over();
}

std::int32_t milliseconds(Duration timeout) {
  return static_cast<std::int32_t>(
      std::clamp<Duration::rep>(timeout.count(), 1, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace

Session::Session(const Address& address, Duration timeout)
    : address_(address), members_(address, words), timeout_(timeout) {}

void Session::next_member() {
  connection_.reset();
  members_.next();
}

Wait Session::bounded(Wait wait) const { return wait.at_most(BootClock::now() + std::min(timeout_, member_timeout)); }

template <class T>
Result<T> Session::dropped(base::Error error) {
  if (error.code == ErrorCode::interrupted) {
    disconnect();
  } else {
    next_member();
  }
  return std::unexpected(std::move(error));
}

std::string Session::frames_of(std::span<const Request> requests) {
  std::string frames;
  for (const auto& request : requests) {
    const bool is_ping = request.op == Request::Op::ping;
    if (!is_ping) number_ = following(number_);
    frames += frame_of(is_ping ? number_of_ping : number_, request);
  }
  return frames;
}

Result<Welcome> Session::connect_one(const Greeting& greeting, std::span<const Request> requests, Wait wait) {
  connection_.reset();
  was_cut_ = false;
  news_ = {};
  connection_ = Connection(RLOCK_TRY(members_.connect(wait)));
  ++connections_;
  auto frames = frame_of(greeting);
  if (!address_.user.empty()) {
    frames += frame_of(number_of_auth, digest_auth(address_.user, address_.password.value_or("")));
  }
  frames += frames_of(requests);
  sent_at_ = BootClock::now();
  const auto sent = connection_->send(frames, wait);
  auto frame = sent ? connection_->next(wait) : std::unexpected(sent.error());
  was_cut_ = !frame && is_cut(frame.error(), *connection_, wait);
  if (was_cut_) {
    frame.error().message += "; it may have no majority, or too many connections from this host (maxClientCnxns)";
  }
  const auto bytes = RLOCK_TRY(std::move(frame));
  auto welcome = read_welcome(bytes);
  if (!welcome) return fail(ErrorCode::unreachable, name() + " does not speak ZooKeeper's protocol");
  if (welcome->is_read_only) return fail(ErrorCode::unready, name() + " has no majority, and may only be read");
  return std::move(*welcome);
}

// All members, as long as they say at once that they do not serve.
Result<Welcome> Session::connect(const Greeting& greeting, std::span<const Request> requests, Wait wait) {
  for (auto left = members_.size();;) {
    auto welcome = connect_one(greeting, requests, wait);
    if (welcome) return welcome;
    const bool may_pass = welcome.error().code == ErrorCode::unreachable || welcome.error().code == ErrorCode::unready;
    if (!may_pass || --left == 0 || wait.is_over()) return dropped<Welcome>(std::move(welcome).error());
    next_member();
  }
}

Result<std::vector<Answer>> Session::create(Duration timeout, std::span<const Request> requests, Wait wait) {
  id_.reset();
  const Greeting greeting{.timeout_ms = milliseconds(timeout), .last_seen = last_seen_};
  const auto welcome = RLOCK_TRY(connect(greeting, requests, bounded(wait)));
  if (welcome.timeout_ms <= 0) {
    return dropped<std::vector<Answer>>({ErrorCode::unready, name() + " makes no session"});
  }
  id_ = SessionId{welcome.id, welcome.password, Duration(welcome.timeout_ms)};
  return answers(requests, bounded(wait));
}

void Session::take_up(SessionId id) {
  connection_.reset();
  id_ = std::move(id);
}

Result<Session::Reopened> Session::reopen(Duration timeout, std::span<const Request> requests, Wait wait) {
  const Greeting greeting{id_->id, id_->password, milliseconds(timeout), last_seen_};
  const auto welcome = RLOCK_TRY(connect(greeting, requests, bounded(wait)));
  if (welcome.timeout_ms <= 0) {
    next_member();  // this one may be cut off
    return Reopened{.is_expired = true};
  }
  auto said = RLOCK_TRY(answers(requests, bounded(wait)));
  return Reopened{.granted = Duration(welcome.timeout_ms), .answers = std::move(said)};
}

Result<std::vector<Answer>> Session::flight(std::span<const Request> requests, Wait wait) {
  if (!connection_) return fail(ErrorCode::unreachable, name() + ": the connection broke");
  wait = bounded(wait);
  const auto sent = connection_->send(frames_of(requests), wait);
  if (!sent) return dropped<std::vector<Answer>>(sent.error());
  return answers(requests, wait);
}

Result<std::int32_t> Session::post(const Request& request) {
  if (!connection_) return fail(ErrorCode::unreachable, name() + ": the connection broke");
  base::PlainPoller poller;
  const auto sent = connection_->send(frames_of({&request, 1}), {BootClock::now(), poller});
  if (!sent) return dropped<std::int32_t>(sent.error());
  return number_;
}

void Session::close() {
  if (connection_) (void)post(zookeeper::close_session());
  forget();
}

void Session::forget() {
  connection_.reset();
  id_.reset();
  news_ = {};
}

// The message, unless it is news, or the answer to our name.
Result<std::optional<Message>> Session::sorted(const std::string& frame) {
  auto message = read_message(frame);
  if (!message) return fail(ErrorCode::unreachable, name() + " does not speak ZooKeeper's protocol");
  last_seen_ = std::max(last_seen_, message->seen);
  if (message->number == number_of_auth) {
    if (message->answer.code != Code::ok) return std::unexpected(error_of(Code::auth_failed));
    return std::nullopt;
  }
  if (message->number != number_of_event) return message;
  auto event = read_event(message->answer.body);
  if (!event) return fail(ErrorCode::unreachable, name() + " does not speak ZooKeeper's protocol");
  if (news_.events.size() < max_news) news_.events.push_back(std::move(*event));
  return std::nullopt;
}

// To those that were sent last, in their order.
Result<std::vector<Answer>> Session::answers(std::span<const Request> requests, Wait wait) {
  auto numbers = numbers_of(requests, number_);
  std::vector<Answer> answers(requests.size());
  for (auto left = requests.size(); left > 0;) {
    const auto frame = connection_->next(wait);
    was_cut_ = !frame && is_cut(frame.error(), *connection_, wait);
    if (!frame) return dropped<std::vector<Answer>>(frame.error());
    auto message = sorted(*frame);
    if (!message) return dropped<std::vector<Answer>>(message.error());
    if (!*message) continue;
    // What was posted before may be answered now, and is not taken for an answer to these.
    const auto number = std::ranges::find(numbers, (*message)->number);
    if (number != numbers.end()) {
      *number = no_number;
      answers[static_cast<std::size_t>(number - numbers.begin())] = std::move((*message)->answer);
      --left;
    } else if (news_.answers.size() < max_news) {
      news_.answers.push_back(std::move(**message));
    }
  }
  if (!connection_->has_received()) return answers;
  // What came together with an answer makes no descriptor readable.
  auto news = drain();
  if (!news) return std::unexpected(std::move(news).error());
  news_ = std::move(*news);
  return answers;
}

Result<Session::News> Session::drain() {
  while (connection_) {
    const auto frame = connection_->poll();
    if (!frame) {
      if (!news_.is_empty()) break;
      return dropped<News>(frame.error());
    }
    if (!*frame) break;
    auto message = sorted(**frame);
    if (!message) return dropped<News>(message.error());
    if (*message && news_.answers.size() < max_news) news_.answers.push_back(std::move(**message));
  }
  return std::exchange(news_, {});
}

base::Error Session::error_of(Code code) {
  const auto number = std::to_string(static_cast<std::int32_t>(code));
  switch (code) {
    case Code::no_auth:
    case Code::auth_failed:
    case Code::needs_sasl: {
      const auto& user = address_.user;
      if (user.empty()) return {ErrorCode::refused, name() + " wants a user; write zookeeper://USER:PASSWORD@HOST"};
      if (address_.password_source.has_changed(address_.password)) {
        disconnect();
        return {ErrorCode::unreachable, name() + " denies this, and the password has changed meanwhile"};
      }
      auto why = name() + " denies this to the user " + base::printable(user) + ", or the password is wrong";
      const auto& source = address_.password_source.name;
      if (!source.empty()) why += "; the password comes from " + source;
      return {ErrorCode::refused, std::move(why)};
    }
    case Code::ephemeral_on_local_session:
      return {
          ErrorCode::configuration,
          name() + " keeps sessions to itself; set localSessionsUpgradingEnabled=true, or localSessionsEnabled=false"};
    case Code::quota_exceeded:
      return {ErrorCode::unready, name() + ": the quota of the node is used up"};
    case Code::too_long:
      return {ErrorCode::unready, name() +
                                      " answers with more than 8 MiB: one node has too many below it; remove what "
                                      "nobody needs any more"};
    case Code::throttled:
      return {ErrorCode::unready, name() + " has too many requests"};
    case Code::session_moved:
    case Code::session_expired:
    case Code::not_read_only:
    case Code::connection_loss:
    case Code::operation_timeout:
      next_member();
      return {ErrorCode::unreachable, name() + " did not carry it out (" + number + ")"};
    default:
      return {ErrorCode::internal, name() + " answers with error " + number};
  }
}

}  // namespace rlock::zookeeper
