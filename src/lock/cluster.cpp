#include "lock/cluster.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>

#include "redis/slot.hpp"

namespace rlock::lock {

using base::Result;
using base::Wait;
using redis::ClusterLocator;
using redis::Session;

Cluster::Cluster(redis::Address address, const redis::Greeting& greeting, base::Duration timeout, redis::Greet greet,
                 std::string_view wire_key, const Scripts& scripts)
    : SingleServer(Session(std::make_unique<ClusterLocator>(address, greeting, redis::hash_slot(wire_key)), greeting,
                           timeout, greet),
                   scripts, Wake::shard),
      address_(std::move(address)),
      greeting_(greeting),
      scripts_(scripts) {}

Session Cluster::session_of(const redis::Endpoint& master) const {
  return {std::make_unique<ClusterLocator>(address_, greeting_, master), greeting_, timeout(), redis::Greet::first};
}

Result<std::vector<std::string>> Cluster::list(const std::string& prefix, Wait wait) {
  const auto masters =
      RLOCK_TRY(redis::masters_of(address_, greeting_, wait.at_most(base::BootClock::now() + timeout())));
  auto before = std::exchange(masters_, {});
  std::set<std::string> keys;
  for (const auto& where : masters) {
    const auto known = std::ranges::find(before, where, &Master::where);
    if (known != before.end()) {
      masters_.splice(masters_.end(), before, known);
      masters_.back().here.clear();
    } else {
      masters_.push_back({where, ScriptRunner(session_of(where), scripts_), {}});
    }
    auto& master = masters_.back();
    const auto found = RLOCK_TRY(lock::list(master.server.session(), prefix, wait));
    for (const auto& key : found) {
      if (keys.insert(key).second) master.here.push_back(prefix + key);
    }
  }
  return std::vector<std::string>(keys.begin(), keys.end());
}

Result<std::vector<Inspection>> Cluster::inspect(std::span<const std::string> wire_keys, std::int64_t max_waiters,
                                                 Wait wait) {
  if (masters_.empty()) return SingleServer::inspect(wire_keys, max_waiters, wait);
  std::unordered_map<std::string, Inspection> seen;
  for (auto& [where, server, here] : masters_) {
    auto inspections = RLOCK_TRY(lock::inspect(server, here, max_waiters, wait));
    for (std::size_t i = 0; i < here.size(); ++i) seen.emplace(here[i], std::move(inspections[i]));
  }
  std::vector<Inspection> result;
  for (const auto& key : wire_keys) result.push_back(std::move(seen[key]));
  return result;
}

Result<std::vector<std::string>> Cluster::warnings(Wait wait) {
  if (masters_.empty()) return SingleServer::warnings(wait);
  std::vector<std::string> result;
  for (auto& [where, server, here] : masters_) {
    auto found = RLOCK_TRY(redis::advice(server.session(), wait));
    std::ranges::move(found, std::back_inserter(result));
  }
  return result;
}

}  // namespace rlock::lock
