#include "lock/cluster.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>

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
  listed_.clear();
  const auto masters =
      RLOCK_TRY(redis::masters_of(address_, greeting_, wait.at_most(base::BootClock::now() + timeout())));
  std::set<std::string> keys;
  for (const auto& master : masters) {
    auto& here = listed_.emplace_back(master, std::vector<std::string>{}).second;
    auto session = session_of(master);
    const auto found = RLOCK_TRY(lock::list(session, prefix, wait));
    for (const auto& key : found) {
      if (keys.insert(key).second) here.push_back(prefix + key);
    }
  }
  return std::vector<std::string>(keys.begin(), keys.end());
}

Result<std::vector<Inspection>> Cluster::inspect(std::span<const std::string> wire_keys, std::int64_t max_waiters,
                                                 Wait wait) {
  if (listed_.empty()) return SingleServer::inspect(wire_keys, max_waiters, wait);
  std::unordered_map<std::string, Inspection> seen;
  for (const auto& [master, here] : listed_) {
    ScriptRunner server(session_of(master), scripts_);
    auto inspections = RLOCK_TRY(lock::inspect(server, here, max_waiters, wait));
    for (std::size_t i = 0; i < here.size(); ++i) seen.emplace(here[i], std::move(inspections[i]));
  }
  std::vector<Inspection> result;
  for (const auto& key : wire_keys) result.push_back(std::move(seen[key]));
  return result;
}

Result<std::vector<std::string>> Cluster::warnings(Wait wait) {
  if (listed_.empty()) return SingleServer::warnings(wait);
  std::vector<std::string> result;
  for (const auto& [master, here] : listed_) {
    auto session = session_of(master);
    auto found = RLOCK_TRY(redis::advice(session, wait));
    std::ranges::move(found, std::back_inserter(result));
  }
  return result;
}

}  // namespace rlock::lock
