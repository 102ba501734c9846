#include "stores/redis/locate/sentinel_locator.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "base/log.hpp"
#include "base/text/bounds.hpp"
#include "base/text/number.hpp"
#include "base/text/text.hpp"
#include "base/wait/retry.hpp"
#include "net/resolve.hpp"
#include "stores/redis/locate/fixed_locator.hpp"

namespace rlock::redis {

using namespace std::chrono_literals;
using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::fail;
using base::Result;
using base::Wait;

namespace {

// How long a Sentinel may take before the next one is asked, and how long where none has answered in that time.
constexpr Duration first_try = 250ms;
constexpr Duration second_try = 10s;
// After the Sentinel that watched has gone, and no other could be reached.
constexpr Duration watch_pause = 1s;
// How long ago the Sentinel that watches may have answered last: it is a part of hearing_time.
constexpr Duration watch_silence = 200ms;
// Longer than any grace.
constexpr Duration long_ago = std::chrono::years(20);
// A demoted master may still answer those who have not heard of it.
constexpr Duration hearing_time = 1s;

// Told by the Sentinel that leads a failover as soon as it names the new master, and by the others when they do.
constexpr std::string_view promoted_channel = "+promoted-slave";
constexpr std::string_view switched_channel = "+switch-master";

std::optional<net::Endpoint> endpoint_of(const std::string& host, const std::string& port) {
  const auto number = base::parse_number<std::uint16_t>(port);
  if (!number || *number == 0 || host.empty() || base::has_control(host)) return std::nullopt;
  return net::Endpoint{host, *number};
}

// The reply to SENTINEL MASTER: names and values by turns.
std::map<std::string, std::string> fields_of(const Reply& reply) {
  std::map<std::string, std::string> fields;
  for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2) fields[reply.items[i].text] = reply.items[i + 1].text;
  return fields;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

bool is_unknown_master(const Reply& reply) {
  return reply.kind == Reply::Kind::nil || reply.text.starts_with("ERR No such master with that name");
}

// Since when a Sentinel has seen `master` as the master, or later. `reply` is of SENTINEL MASTER. During a failover the
// Sentinel that leads it names the new master already, and has the fields of the old one still.
base::Instant since_when(const Reply& reply, const net::Endpoint& master) {
  const auto now = BootClock::now();
  auto fields = fields_of(reply);
  const bool is_in_failover = fields["flags"].find("failover_in_progress") != std::string::npos;
  if (endpoint_of(fields["ip"], fields["port"]) != master || is_in_failover) return now;
  const auto ms = base::parse_number<std::int64_t>(fields["role-reported-time"]);
  if (fields["role-reported"] != "master" || !ms || *ms < 0) return now;
  return now - std::min<Duration>(base::span_of(*ms), long_ago);
}

// `reply` is of SENTINEL MASTER.
std::optional<Duration> down_after(const Reply& reply) {
  const auto ms = base::parse_number<std::uint32_t>(fields_of(reply)["down-after-milliseconds"]);
  return ms ? std::optional(Duration(*ms)) : std::nullopt;
}

}  // namespace

SentinelLocator::SentinelLocator(const Address& address)
    : address_(address),
      greeting_{address.sentinel_user, address.sentinel_password, 0, {}, address.sentinel_password_source},
      sentinels_(address.endpoints),
      name_(address.name()) {}

Result<net::Target> SentinelLocator::locate(Reason reason, Wait wait) {
  watch_.reset();
  has_moved_ = false;
  // The master has used up the time: no Sentinel was asked.
  if (master_ && wait.is_over()) return fail(ErrorCode::unreachable, "no answer from " + name_ + " in time");
  // A Sentinel that names a server which is not a master, or is not there, may know less than the others.
  if (reason == Reason::refused || reason == Reason::demoted) {
    std::ranges::rotate(sentinels_, sentinels_.begin() + 1);
  }
  master_ = RLOCK_TRY(ask_sentinels(wait));
  const auto& endpoint = master_->endpoint;
  name_ = address_.master + " at " + endpoint.name();
  address_.host_may_be_secret = false;
  auto addresses = RLOCK_TRY(net::resolve(endpoint, endpoint.host, wait));
  return net::Target{std::move(addresses), endpoint.host, address_.tls};
}

// Of those that fail, one that says what is wrong counts more than one that does not answer, or not now.
Result<SentinelLocator::Master> SentinelLocator::ask_sentinels(Wait wait) {
  std::optional<base::Error> wrong;
  std::string silent;
  for (const auto limit : {first_try, second_try}) {
    for (auto left = static_cast<long>(sentinels_.size()); left > 0; --left) {
      // One share is for the master.
      auto master = ask(sentinels_.front(), wait.share(left + 1).at_most(BootClock::now() + limit));
      if (master || master.error().code == ErrorCode::interrupted) return master;
      base::log_debug(master.error().message);
      if (base::may_pass(master.error())) {
        silent = master.error().message;
      } else if (!wrong) {
        wrong = std::move(master).error();
      }
      std::ranges::rotate(sentinels_, sentinels_.begin() + 1);
    }
    if (silent.empty()) break;
  }
  if (!wrong) return fail(ErrorCode::unreachable, address_.name() + ": no Sentinel answers (" + silent + ")");
  // They knew it before: one that does not was set up anew, or has not come to it.
  if (master_) wrong->code = ErrorCode::unready;
  return std::unexpected(std::move(*wrong));
}

Result<SentinelLocator::Master> SentinelLocator::ask(const net::Endpoint& endpoint, Wait wait) {
  const std::vector<Command> questions{
      {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", address_.master},
      {"SENTINEL", "MASTER", address_.master},
      {"SUBSCRIBE", std::string(switched_channel), std::string(promoted_channel)},
  };
  auto sentinel = session_with(endpoint);
  auto answer = sentinel.flight(questions, wait);
  if (answer && answer->front().error_code() == "NOAUTH" && !greeting_.password && address_.password) {
    greeting_ = {address_.user, address_.password, 0, {}, address_.password_source};
    sentinel = session_with(endpoint);
    answer = sentinel.flight(questions, wait);
  }
  if (!answer) {
    auto error = std::move(answer).error();
    const bool is_of_the_servers = greeting_.password && !address_.sentinel_password;
    if (error.code == ErrorCode::refused && is_of_the_servers) {
      error.message += "; a password of the Sentinels alone is ?sentinel_password_file=FILE in the URL";
    }
    return std::unexpected(std::move(error));
  }
  const auto& replies = *answer;
  const auto& named = replies[0];
  const auto& who = sentinel.name();
  if (named.text.starts_with("ERR unknown command")) {
    return fail(ErrorCode::configuration, who + ": it is not a Sentinel; a server without Sentinels is " +
                                              (address_.tls ? "rediss" : "redis") + "://host[:port]");
  }
  if (is_unknown_master(named)) {
    return fail(ErrorCode::configuration, who + ": the Sentinel knows no master of that name" + known(endpoint, wait));
  }
  if (named.error_code() == "NOAUTH") {
    return fail(ErrorCode::refused,
                who + ": the Sentinel needs a password: add ?sentinel_password_file=FILE to the URL (NOAUTH)");
  }
  if (named.is_error()) return std::unexpected(error_of(named, who));
  const auto master = named.items.size() == 2 ? endpoint_of(named.items[0].text, named.items[1].text) : std::nullopt;
  if (!master) return not_understood(who);
  // Denied, it costs the news of a failover: the old master is then left when it breaks or says READONLY.
  if (!replies[2].is_error()) {
    watch_ = std::move(sentinel);
    watch_->on_push([this](const Reply& message) { hear(message); });
    watch_heard_ = BootClock::now();
  }
  return Master{*master, since_when(replies[1], *master), down_after(replies[1])};
}

Session SentinelLocator::session_with(const net::Endpoint& sentinel) const {
  auto address = address_;
  address.endpoints = {sentinel};
  address.user.clear();
  return Session(std::make_unique<FixedLocator>(address), greeting_, second_try, Greet::together);
}

// What a Sentinel does know, for a message.
std::string SentinelLocator::known(const net::Endpoint& sentinel, Wait wait) const {
  const Command question{"SENTINEL", "MASTERS"};
  const auto replies = session_with(sentinel).flight({&question, 1}, wait);
  if (!replies) return "";
  std::string names;
  for (const auto& master : replies->front().items) {
    names += (names.empty() ? "" : ", ") + base::printable(fields_of(master)["name"]);
  }
  return names.empty() ? "" : "; it knows " + names;
}

void SentinelLocator::check_watch(Wait wait) {
  if (has_news()) return;
  if (watch_ && BootClock::now() >= watch_heard_ + watch_silence) {
    if (const auto heard = probe_watch(wait.share(8).at_most(BootClock::now() + first_try)); !heard) {
      base::log_debug(heard.error().message);
      watch_.reset();
      std::ranges::rotate(sentinels_, sentinels_.begin() + 1);
    }
  }
  const auto now = BootClock::now();
  if (watch_ || has_moved_ || !master_ || now < watch_again_) return;
  watch_again_ = now + watch_pause;
  const auto master = ask_sentinels(wait.share(4));
  has_moved_ = master && master->endpoint != master_->endpoint;
}

// Its answer comes behind all that it has told.
Result<void> SentinelLocator::probe_watch(Wait wait) {
  // What it has done already: no command more to allow it.
  const Command probe{"SUBSCRIBE", std::string(switched_channel)};
  RLOCK_TRY(watch_->send({&probe, 1}, wait));
  while (true) {
    const auto reply = RLOCK_TRY(watch_->next(wait));
    if (reply.is_error() || (!reply.items.empty() && reply.items.front().text == "subscribe")) break;
    hear(reply);
    if (wait.is_over()) return fail(ErrorCode::unreachable, "no answer from " + watch_->name() + " in time");
  }
  watch_heard_ = BootClock::now();
  return {};
}

void SentinelLocator::hear(const Reply& message) {
  const auto master = master_told_by(message);
  has_moved_ |= master && *master != master_->endpoint;
}

bool SentinelLocator::has_news() {
  if (!watch_) return has_moved_;
  if (!watch_->hear()) watch_.reset();
  return has_moved_;
}

// The new master, if a message is about ours. The Sentinel that leads a failover tells twice, a second or more apart:
// "slave NAME HOST PORT @ MASTER OLD_HOST OLD_PORT" of the promoted one, "MASTER OLD_HOST OLD_PORT HOST PORT" at the
// end.
std::optional<net::Endpoint> SentinelLocator::master_told_by(const Reply& message) const {
  if (message.items.size() != 3 || message.items[0].text != "message") return std::nullopt;
  const auto words = words_of(message.items[2].text);
  const bool is_of_promotion = message.items[1].text == promoted_channel;
  const std::size_t name_at = is_of_promotion ? 5 : 0;
  const std::size_t host_at = is_of_promotion ? 2 : 3;
  if (words.size() < (is_of_promotion ? 8 : 5) || words[name_at] != address_.master) return std::nullopt;
  return endpoint_of(words[host_at], words[host_at + 1]);
}

Duration SentinelLocator::young_for(Duration grace) const {
  if (!master_) return {};
  const auto left = master_->since + grace + hearing_time - BootClock::now();
  return std::max(std::chrono::ceil<Duration>(left), Duration::zero());
}

}  // namespace rlock::redis
