#include "redis/advice.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/duration.hpp"
#include "base/number.hpp"
#include "redis/reply.hpp"

namespace rlock::redis {

using base::Result;
using base::Wait;

namespace {

// As long as most leases last, and longer.
constexpr base::Duration lately = std::chrono::minutes(5);

/// What INFO and CONFIG GET have told. A field that is not there was not told.
class Settings {
 public:
  Settings(std::string_view info, std::optional<std::string> appendfsync, std::optional<std::string> min_replicas)
      : appendfsync_(std::move(appendfsync)), min_replicas_(std::move(min_replicas)), info_(info) {}

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
    } else if (appendfsync_ && *appendfsync_ != "always") {
      warn("it may forget the locks of the last second when it crashes; in redis.conf: appendfsync always (it is " +
           *appendfsync_ + ")");
    }
    const bool keeps_all = field("aof_enabled") == "1" && appendfsync_ == "always";
    const auto uptime = std::chrono::seconds(number("uptime_in_seconds"));
    if (!field("uptime_in_seconds").empty() && uptime < lately && !keeps_all) {
      warn("it restarted " + base::format_duration(uptime) +
           " ago and may have forgotten who holds what; --grace keeps free locks for their holders");
    }
    if (!is_replica() && number("connected_slaves") > 0 && min_replicas_ == "0") {
      warn(
          "cut off from its replicas, it goes on giving locks away that their new master gives too; in redis.conf: "
          "min-replicas-to-write 1");
    }
    if (info_.empty()) {
      warn("an ACL denies INFO: whether it drops or forgets locks is not to be seen");
    } else if (const auto hidden = unseen(); !hidden.empty()) {
      warn("an ACL denies CONFIG GET: " + hidden + " not to be seen");
    }
    return found;
  }

 private:
  std::string_view field(std::string_view name) const {
    std::string_view rest = info_;
    while (!rest.empty()) {
      const auto line = rest.substr(0, rest.find("\r\n"));
      if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
        return line.substr(name.size() + 1);
      }
      rest.remove_prefix(std::min(line.size() + 2, rest.size()));
    }
    return {};
  }
  std::uint64_t number(std::string_view name) const {
    return base::parse_number<std::uint64_t>(field(name)).value_or(0);
  }
  bool is_replica() const { return field("role") == "slave"; }

  // Settings that matter here and were not told.
  std::string unseen() const {
    const bool wants_fsync = !appendfsync_ && field("aof_enabled") != "0";
    const bool wants_replicas = !min_replicas_ && number("connected_slaves") > 0;
    if (wants_fsync && wants_replicas) return "appendfsync and min-replicas-to-write are";
    if (wants_fsync) return "appendfsync is";
    return wants_replicas ? "min-replicas-to-write is" : "";
  }

  std::optional<std::string> appendfsync_;
  std::optional<std::string> min_replicas_;
  std::string_view info_;
};

std::optional<std::string> value_of(const Reply& reply) {
  const bool is_pair = reply.kind == Reply::Kind::array && reply.items.size() == 2;
  return is_pair ? std::optional(reply.items[1].text) : std::nullopt;
}

}  // namespace

Result<std::vector<std::string>> advice(Session& session, Wait wait) {
  const std::array<Command, 3> flight{Command{"INFO"}, Command{"CONFIG", "GET", "appendfsync"},
                                      Command{"CONFIG", "GET", "min-replicas-to-write"}};
  const auto replies = RLOCK_TRY(session.flight(flight, wait));
  const auto& info = replies[0];
  if (info.is_error() && info.error_code() != "NOPERM") return std::unexpected(error_of(info, session.name()));
  auto found = Settings(info.is_error() ? "" : info.text, value_of(replies[1]), value_of(replies[2])).warnings();
  for (auto& text : found) text.insert(0, session.name() + ": ");
  return found;
}

}  // namespace rlock::redis
