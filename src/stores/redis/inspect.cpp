#include "stores/redis/inspect.hpp"

#include <algorithm>
#include <set>

#include "base/text/bounds.hpp"
#include "stores/redis/scripts/reply_shape.hpp"

namespace rlock::redis {

using base::Result;
using base::Wait;

namespace {

// Locks in one flight of inspect: some 200 kB of requests, which a server answers within milliseconds.
constexpr std::size_t max_flight = 500;

ScriptCall inspection(const Scripts& scripts, const Names& names, const std::string& max_waiters) {
  static const std::string no_token;
  return {scripts.inspect, names, no_token, {max_waiters}};
}

std::string escaped_for_match(std::string_view prefix) {
  std::string result;
  for (const char c : prefix) {
    if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

Result<lock::Inspection> read_inspection(const Reply& reply, const std::string& server) {
  if (reply.is_error()) return std::unexpected(error_of(reply, server));
  if (!is_shaped(reply, "ttiiiatta")) return not_understood(server);
  const auto& items = reply.items;
  lock::Inspection result;
  if (items[0].text == "held") {
    result.state = lock::Inspection::State::held;
  } else if (items[0].text == "foreign" || items[0].text == "data") {
    result.state = lock::Inspection::State::foreign;
    result.is_other_data = items[0].text == "data";
  } else if (items[0].text != "free") {
    return not_understood(server);
  }
  result.now_us = base::time_us_of(items[3].integer);
  result.waiting = base::count_of(items[4].integer);
  const auto mode = lock::Mode::decode(items[7].text);
  if (!mode) return not_understood(server);
  result.mode = *mode;
  if (result.state != lock::Inspection::State::free && !result.mode.is_for_several()) {
    result.holders.push_back({lock::Record::decode(items[1].text), base::ttl_of(items[2].integer)});
  }
  const auto& holders = items[8].items;
  for (std::size_t i = 0; i + 1 < holders.size(); i += 2) {
    result.holders.push_back({lock::Record::decode(holders[i].text), base::ttl_of(holders[i + 1].integer)});
  }
  // In the order of the grants: the script lists them by the ends of their leases, which change with each renewal.
  std::ranges::stable_sort(result.holders, {},
                           [](const auto& holder) { return holder.record ? holder.record->fence : 0; });
  const auto& waiters = items[5].items;
  for (std::size_t i = 0; i + 1 < waiters.size(); i += 2) {
    const auto ticket = base::time_us_of(base::number_in(waiters[i].text));
    result.waiters.push_back({ticket, lock::Record::decode(waiters[i + 1].text)});
  }
  result.last_run = lock::LastRun::decode(items[6].text);
  return result;
}

Result<std::vector<Reply>> inspect_some(ScriptRunner& server, std::span<const std::string> wire_keys,
                                        std::int64_t max_waiters, Wait wait) {
  const auto max = std::to_string(max_waiters);
  std::vector<Command> flight;
  for (const auto& key : wire_keys) flight.push_back(inspection(server.scripts(), Names(key), max).by_hash());
  auto replies = RLOCK_TRY(server.session().flight(flight, wait));
  if (replies.front().error_code() == "NOSCRIPT") {
    // The first brings the script along; those behind it find it cached.
    flight.front() = inspection(server.scripts(), Names(wire_keys.front()), max).in_full();
    replies = RLOCK_TRY(server.session().flight(flight, wait));
  }
  for (std::size_t i = 0; i < replies.size(); ++i) {
    auto& reply = replies[i];
    if (!is_elsewhere(reply)) continue;
    const Names names(wire_keys[i]);
    reply = RLOCK_TRY(server.run(inspection(server.scripts(), names, max), wait));
  }
  return replies;
}

}  // namespace

Result<std::vector<lock::Inspection>> inspect(ScriptRunner& server, std::span<const std::string> wire_keys,
                                              std::int64_t max_waiters, Wait wait) {
  std::vector<lock::Inspection> result;
  result.reserve(wire_keys.size());
  while (!wire_keys.empty()) {
    const auto part = wire_keys.first(std::min(wire_keys.size(), max_flight));
    wire_keys = wire_keys.subspan(part.size());
    const auto replies = RLOCK_TRY(inspect_some(server, part, max_waiters, wait));
    for (const auto& reply : replies) {
      auto inspection = RLOCK_TRY(read_inspection(reply, server.session().name()));
      result.push_back(std::move(inspection));
    }
  }
  return result;
}

Result<std::vector<std::string>> list(Session& server, const std::string& prefix, Wait wait) {
  // A lock that an rlock holds or waits for has its info key, one that is free its last run; a foreign one only its
  // own.
  std::vector<Command> filters;
  filters.push_back(prefix.empty() ? Command{"TYPE", "string"} : Command{"MATCH", escaped_for_match(prefix) + "*"});
  if (prefix.empty() || !std::string_view("rlock:i:").starts_with(prefix)) filters.push_back({"MATCH", "rlock:[il]:*"});
  std::set<std::string> keys;
  for (const auto& filter : filters) {
    std::string cursor = "0";
    do {
      if (wait.is_over()) {
        return base::fail(base::ErrorCode::unready,
                          server.name() + ": it has too many keys to list them in time; name one KEY");
      }
      const Command scan{"SCAN", cursor, filter[0], filter[1], "COUNT", "1000"};
      const auto replies = RLOCK_TRY(server.flight({&scan, 1}, wait));
      const auto& reply = replies.front();
      if (reply.is_error()) return std::unexpected(error_of(reply, server.name()));
      if (!is_shaped(reply, "ta")) return not_understood(server.name());
      cursor = reply.items[0].text;
      for (const auto& item : reply.items[1].items) {
        auto lock = lock_of_side_key(item.text);
        if (lock.empty() && !is_side_key(item.text)) lock = item.text;
        if (!lock.empty() && lock.starts_with(prefix)) keys.insert(lock.substr(prefix.size()));
      }
    } while (cursor != "0");
  }
  return std::vector<std::string>(keys.begin(), keys.end());
}

}  // namespace rlock::redis
