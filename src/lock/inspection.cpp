#include "lock/inspection.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "lock/client.hpp"

namespace rlock::lock {

using base::ErrorCode;
using base::fail;
using base::Result;
using redis::Command;
using redis::Reply;

namespace {

// Locks a flight: some 200 kB of requests, which a server answers within milliseconds.
constexpr std::size_t max_flight = 500;

std::unexpected<base::Error> not_understood(const redis::Session& session) {
  return fail(ErrorCode::internal, session.name() + " gave a reply that rlock does not understand");
}

Result<Inspection> read(const Reply& reply, const redis::Session& session) {
  if (reply.is_error()) return std::unexpected(redis::error_of(reply, session.name()));
  const auto& items = reply.items;
  if (!is_shaped(reply, "ttiiia")) return not_understood(session);
  Inspection result;
  if (items[0].text == "held") {
    result.state = Inspection::State::held;
  } else if (items[0].text == "foreign") {
    result.state = Inspection::State::foreign;
  } else if (items[0].text != "free") {
    return not_understood(session);
  }
  result.holder = Record::decode(items[1].text);
  result.ttl_left = ttl_of(items[2].integer);
  result.now_us = items[3].integer;
  result.waiting = items[4].integer;
  const auto& waiters = items[5].items;
  for (std::size_t i = 0; i + 1 < waiters.size(); i += 2) {
    std::int64_t ticket = 0;
    std::from_chars(waiters[i].text.data(), waiters[i].text.data() + waiters[i].text.size(), ticket);
    result.waiters.push_back({ticket, Record::decode(waiters[i + 1].text)});
  }
  return result;
}

// first: how the first of the flight brings the script. Those behind it find it cached.
Result<std::vector<Reply>> fly(redis::Session& session, std::span<const std::string> wire_keys, const Command& first,
                               const std::vector<std::string>& arguments, base::Poller& poller) {
  std::vector<Command> flight;
  for (const auto& key : wire_keys) {
    flight.push_back(flight.empty() ? script_command(first[0], first[1], Names(key), "", arguments)
                                    : script_command("EVALSHA", inspect_script.sha1, Names(key), "", arguments));
  }
  return session.flight(flight, base::never, poller);
}

std::string escaped(std::string_view prefix) {
  std::string result;
  for (const char c : prefix) {
    if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

Result<std::vector<Inspection>> inspect(redis::Session& session, std::span<const std::string> wire_keys,
                                        std::int64_t max_waiters, base::Poller& poller) {
  const std::vector<std::string> arguments{std::to_string(max_waiters)};
  const Command by_name{"EVALSHA", std::string(inspect_script.sha1)};
  const Command by_text{"EVAL", std::string(inspect_script.text)};
  std::vector<Inspection> result;
  result.reserve(wire_keys.size());
  while (!wire_keys.empty()) {
    const auto part = wire_keys.first(std::min(wire_keys.size(), max_flight));
    wire_keys = wire_keys.subspan(part.size());
    auto replies = fly(session, part, by_name, arguments, poller);
    if (replies && replies->front().error_code() == "NOSCRIPT") {
      replies = fly(session, part, by_text, arguments, poller);
    }
    if (!replies) return std::unexpected(replies.error());
    for (const auto& reply : *replies) {
      auto inspection = read(reply, session);
      if (!inspection) return std::unexpected(inspection.error());
      result.push_back(std::move(*inspection));
    }
  }
  return result;
}

Result<std::vector<std::string>> list_locks(redis::Session& session, const std::string& prefix, base::Poller& poller) {
  // A lock that an rlock holds or waits for has its info key; a foreign one only its own.
  std::set<std::string> keys;
  for (const Command& filter : {Command{"MATCH", "rlock:i:*"},
                                prefix.empty() ? Command{"TYPE", "string"} : Command{"MATCH", escaped(prefix) + "*"}}) {
    std::string cursor = "0";
    do {
      const Command scan{"SCAN", cursor, filter[0], filter[1], "COUNT", "1000"};
      auto replies = session.flight({&scan, 1}, base::never, poller);
      if (!replies) return std::unexpected(replies.error());
      const auto& reply = replies->front();
      if (reply.is_error()) return std::unexpected(redis::error_of(reply, session.name()));
      if (!is_shaped(reply, "ta")) return not_understood(session);
      cursor = reply.items[0].text;
      for (const auto& item : reply.items[1].items) {
        auto lock = lock_of_side_key(item.text);
        if (lock.empty() && !is_side_key(item.text)) lock = item.text;
        if (!lock.empty() && lock.starts_with(prefix)) keys.insert(lock.substr(prefix.size()));
      }
    } while (cursor != "0");
  }
  keys.erase("");
  return std::vector<std::string>(keys.begin(), keys.end());
}

}  // namespace rlock::lock
