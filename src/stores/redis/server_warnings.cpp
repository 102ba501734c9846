#include "stores/redis/server_warnings.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/text/bounds.hpp"
#include "base/text/duration.hpp"
#include "stores/redis/client/reply.hpp"

namespace rlock::redis {

using base::Result;
using base::Wait;

namespace {

// As long as most leases last, and longer.
constexpr base::Duration lately = std::chrono::minutes(5);
// Keys in the table of what clients track.
constexpr std::int64_t least_tracked = 1'000;
constexpr std::int64_t tracked_per_client = 10;

// A master that is cut off from its replicas goes on for so much longer than min-replicas-max-lag: it counts whole
// seconds, and looks once a second.
constexpr std::chrono::seconds lag_margin{2};
// Replicas report once a second: with a shorter lag a moment's delay is an outage.
constexpr std::chrono::seconds min_lag{2};
constexpr std::chrono::seconds default_lag{10};

// Asked for one by one: Redis 6.2 takes no list.
constexpr std::array settings{"appendfsync", "min-replicas-max-lag", "cluster-node-timeout", "tracking-table-max-keys"};

/// What INFO, CONFIG GET and the locator have said. A field that is empty was not said.
class Settings {
 public:
  struct Reported {
    std::string_view info;
    std::optional<std::string> appendfsync, max_lag, node_timeout, max_tracked;
    std::optional<base::Duration> failover_after;  ///< as Sentinels say
  };
  explicit Settings(Reported reported) : reported_(std::move(reported)) {}

  std::vector<std::string> warnings() const {
    std::vector<std::string> found;
    const auto warn = [&](std::string text) { found.push_back(std::move(text)); };
    const auto policy = field("maxmemory_policy");
    if (is_replica()) {
      warn("it is a replica, which keeps no locks of its own; name its master, " + std::string(field("master_host")) +
           ":" + std::string(field("master_port")));
    }
    if (number("maxmemory") > 0 && policy != "noeviction") {
      warn("it drops locks when its memory is full; in redis.conf: maxmemory-policy noeviction (it is " +
           std::string(policy) + ")");
    }
    if (field("aof_enabled") == "0") {
      warn("it forgets locks when it restarts; in redis.conf: appendonly yes, and appendfsync always");
    } else if (reported_.appendfsync && *reported_.appendfsync != "always") {
      warn("it may forget the locks of the last second when it crashes; in redis.conf: appendfsync always (it is " +
           *reported_.appendfsync + ")");
    }
    const bool keeps_all = field("aof_enabled") == "1" && reported_.appendfsync == "always";
    const auto uptime = std::chrono::seconds(number("uptime_in_seconds"));
    if (!field("uptime_in_seconds").empty() && uptime < lately && !keeps_all) {
      warn("it restarted " + base::format_duration(uptime) +
           " ago and may have forgotten who holds what; --grace keeps free locks for their holders");
    }
    if (auto split = split_brain(); !split.empty()) warn(std::move(split));
    if (is_tracking_short()) {
      warn(
          "its table of tracked keys is too small for its clients: rlock may notice a deleted lock only at the next "
          "renewal; in redis.conf: tracking-table-max-keys 1000000 (it is " +
          std::to_string(max_tracked()) + ")");
    }
    if (reported_.info.empty()) {
      warn("an ACL denies INFO: cannot see whether it drops or forgets locks");
    } else if (const auto hidden = unseen(); !hidden.empty()) {
      warn("an ACL denies CONFIG GET: cannot see " + hidden);
    }
    return found;
  }

 private:
  std::string_view field(std::string_view name) const {
    std::string_view rest = reported_.info;
    while (!rest.empty()) {
      const auto line = rest.substr(0, rest.find("\r\n"));
      if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
        return line.substr(name.size() + 1);
      }
      rest.remove_prefix(std::min(line.size() + 2, rest.size()));
    }
    return {};
  }
  std::int64_t number(std::string_view name) const { return base::count_of(base::number_in(field(name))); }
  // rlock reads some four keys of a lock that it tracks; other clients may read many.
  bool is_tracking_short() const {
    const auto max = max_tracked();
    if (max <= 0) return false;  // no limit, or not known
    return max < std::max(least_tracked, tracked_per_client * number("connected_clients")) ||
           number("tracking_total_keys") >= max - max / 10;
  }
  std::int64_t max_tracked() const { return base::count_of(base::number_in(reported_.max_tracked.value_or(""))); }
  bool is_replica() const { return field("role") == "slave"; }
  bool is_replicated() const { return !is_replica() && number("connected_slaves") > 0; }
  bool is_of_cluster() const { return field("cluster_enabled") == "1"; }
  // INFO has that line only where min-replicas-to-write and min-replicas-max-lag are both set.
  bool stops_without_replicas() const { return !field("min_slaves_good_slaves").empty(); }

  std::optional<std::chrono::seconds> max_lag() const {
    const auto seconds = base::parse_number<std::uint32_t>(reported_.max_lag.value_or(""));
    return seconds ? std::optional(std::chrono::seconds(*seconds)) : std::nullopt;
  }
  std::optional<base::Duration> failover_after() const {
    if (!is_of_cluster()) return reported_.failover_after;
    const auto ms = base::parse_number<std::uint32_t>(reported_.node_timeout.value_or(""));
    return ms ? std::optional(base::Duration(*ms)) : std::nullopt;
  }

  // A master that is cut off together with some clients, beside a new one. Empty where it stops before there is one.
  std::string split_brain() const {
    if (!is_replicated()) return "";
    const auto lag = max_lag();
    const auto failover = failover_after();
    const bool stops = stops_without_replicas();
    if (stops && (!lag || !failover || *lag + lag_margin <= *failover)) return "";
    std::string text = "cut off from its replicas, it goes on granting locks ";
    text += stops ? "for " + base::format_duration(*lag + lag_margin) + ", but a replica may be promoted after " +
                        base::format_duration(*failover)
                  : "that the new master grants too";
    text += std::string("; in redis.conf: ") + (stops ? "" : "min-replicas-to-write 1, and ") + "min-replicas-max-lag ";
    if (failover) {
      const auto wanted = std::chrono::floor<std::chrono::seconds>(*failover) - lag_margin;
      text += std::to_string(std::clamp(wanted, min_lag, default_lag).count());
      if (stops) text += " (it is " + std::to_string(lag->count()) + ")";
      const base::Duration enough = min_lag + lag_margin;
      if (*failover < enough) {
        text += std::string(", and ") +
                (is_of_cluster() ? "cluster-node-timeout " : "in sentinel.conf: down-after-milliseconds ") +
                std::to_string(enough.count()) + " or more (it is " + std::to_string(failover->count()) + ")";
      }
    } else {
      text += "2 seconds or more below the time after which a replica is promoted";
    }
    const auto all = "--replicas " + std::string(field("connected_slaves"));
    return text + (is_of_cluster() ? "; or, which is safer, " + all : "; and --grace; or in place of both " + all);
  }

  // Settings that matter here and are not known.
  std::string unseen() const {
    std::vector<std::string> names;
    if (!reported_.appendfsync && field("aof_enabled") != "0") names.emplace_back("appendfsync");
    if (is_replicated() && stops_without_replicas() && !reported_.max_lag) names.emplace_back("min-replicas-max-lag");
    if (is_replicated() && is_of_cluster() && !reported_.node_timeout) names.emplace_back("cluster-node-timeout");
    if (names.empty()) return "";
    std::string text = names.front();
    for (std::size_t i = 1; i < names.size(); ++i) text += (i + 1 < names.size() ? ", " : " and ") + names[i];
    return text;
  }

  Reported reported_;
};

std::optional<std::string> value_of(const Reply& reply) {
  const bool is_pair = reply.kind == Reply::Kind::array && reply.items.size() == 2;
  return is_pair ? std::optional(reply.items[1].text) : std::nullopt;
}

}  // namespace

Result<std::vector<std::string>> server_warnings(Session& session, Wait wait) {
  std::vector<Command> flight{{"INFO"}};
  for (const auto* setting : settings) flight.push_back({"CONFIG", "GET", setting});
  const auto replies = RLOCK_TRY(session.flight(flight, wait));
  const auto& info = replies[0];
  if (info.is_error() && info.error_code() != "NOPERM") return std::unexpected(error_of(info, session.name()));
  auto found = Settings({.info = info.is_error() ? std::string_view() : info.text,
                         .appendfsync = value_of(replies[1]),
                         .max_lag = value_of(replies[2]),
                         .node_timeout = value_of(replies[3]),
                         .max_tracked = value_of(replies[4]),
                         .failover_after = session.failover_after()})
                   .warnings();
  for (auto& text : found) text.insert(0, session.name() + ": ");
  return found;
}

}  // namespace rlock::redis
