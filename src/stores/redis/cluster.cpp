#include "stores/redis/cluster.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/wait/retry.hpp"
#include "stores/redis/locate/slot.hpp"

namespace rlock::redis {

using base::Result;
using base::Wait;

Cluster::Cluster(Address address, const Greeting& greeting, base::Duration timeout, Greet greet,
                 std::string_view wire_key, const Scripts& scripts, Safeguards safeguards)
    : SingleServer(
          Session(std::make_unique<ClusterLocator>(address, greeting, hash_slot(wire_key)), greeting, timeout, greet),
          scripts, safeguards, Wake::shard),
      address_(std::move(address)),
      greeting_(greeting),
      scripts_(scripts) {}

Session Cluster::session_of(const net::Endpoint& master) const {
  return {std::make_unique<ClusterLocator>(address_, greeting_, master), greeting_, timeout(), Greet::first};
}

// A connection to a master that is there still is used again.
void Cluster::look_for(std::span<const net::Endpoint> masters) {
  auto before = std::exchange(masters_, {});
  for (const auto& where : masters) {
    const auto known = std::ranges::find(before, where, &Master::where);
    if (known == before.end()) {
      masters_.push_back({where, ScriptRunner(session_of(where), scripts_), {}, {}});
      continue;
    }
    masters_.splice(masters_.end(), before, known);
    masters_.back().here.clear();
    masters_.back().error.reset();
  }
  lost_ = {};
}

// Asks all masters that have answered up to now, and goes on without those that fail. Fails where all have. Those that
// are silent share one timeout.
template <class Ask>
Result<void> Cluster::ask_each(Wait wait, Ask ask) {
  for (auto& master : masters_) {
    if (master.error) continue;
    const auto began = base::BootClock::now();
    const bool may_take_long = lost_ < timeout() / 2;
    const auto answer =
        ask(master, may_take_long ? wait : wait.at_most(began + std::max(timeout() - lost_, base::min_try)));
    if (answer) continue;
    if (answer.error().code == base::ErrorCode::interrupted) return std::unexpected(answer.error());
    lost_ += std::chrono::ceil<base::Duration>(base::BootClock::now() - began);
    master.error = answer.error();
  }
  const bool has_answer = std::ranges::any_of(masters_, [](const Master& master) { return !master.error; });
  if (!has_answer && !masters_.empty()) return std::unexpected(*masters_.front().error);
  return {};
}

Result<std::vector<std::string>> Cluster::list(const std::string& prefix, Wait wait) {
  look_for(RLOCK_TRY(masters_of(address_, greeting_, wait.at_most(base::BootClock::now() + timeout()))));
  std::set<std::string> keys;
  const auto list_here = [&](Master& master, Wait own) -> Result<void> {
    const auto found = RLOCK_TRY(redis::list(master.server.session(), prefix, own));
    for (const auto& key : found) {
      if (keys.insert(key).second) master.here.push_back(prefix + key);
    }
    return {};
  };
  RLOCK_TRY(ask_each(wait, list_here));
  return std::vector<std::string>(keys.begin(), keys.end());
}

Result<std::vector<lock::Inspection>> Cluster::inspect(std::span<const std::string> wire_keys, std::int64_t max_waiters,
                                                       Wait wait) {
  if (masters_.empty()) return SingleServer::inspect(wire_keys, max_waiters, wait);
  std::unordered_map<std::string, lock::Inspection> seen;
  const auto inspect_here = [&](Master& master, Wait own) -> Result<void> {
    auto inspections = RLOCK_TRY(redis::inspect(master.server, master.here, max_waiters, own));
    for (std::size_t i = 0; i < master.here.size(); ++i) seen.emplace(master.here[i], std::move(inspections[i]));
    return {};
  };
  RLOCK_TRY(ask_each(wait, inspect_here));
  std::vector<lock::Inspection> result;
  for (const auto& key : wire_keys) result.push_back(std::move(seen[key]));
  return result;
}

std::vector<lock::Unseen> Cluster::unseen() const {
  std::vector<lock::Unseen> result;
  for (const auto& master : masters_) {
    if (master.error) result.push_back({master.where.name(), *master.error});
  }
  return result;
}

Result<std::vector<std::string>> Cluster::warnings(Wait wait) {
  if (masters_.empty()) return SingleServer::warnings(wait);
  std::vector<std::string> result;
  const auto warn_of = [&](Master& master, Wait own) -> Result<void> {
    auto found = RLOCK_TRY(server_warnings(master.server.session(), own));
    std::ranges::move(found, std::back_inserter(result));
    return {};
  };
  RLOCK_TRY(ask_each(wait, warn_of));
  return result;
}

}  // namespace rlock::redis
