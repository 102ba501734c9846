#include "lock/inspection.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace rlock::lock {

namespace {

// Visits the holders of a snapshot, each with a text that is the same on all servers and no other holder has. Times and
// fences differ from server to server.
template <class Visit>
void for_each_holder(const Inspection& snapshot, const Visit& visit) {
  std::map<std::string, int> met;  // a shell may hold a shared lock twice
  for (const auto& holder : snapshot.holders) {
    auto who = holder.record ? holder.record->mode.encode() + " " + holder.record->who.encode() : "";
    who += " " + std::to_string(met[who]++);
    visit(std::move(who), holder);
  }
}

}  // namespace

bool may_gain_majority(std::span<const Inspection* const> snapshots, std::size_t missing, std::size_t of) {
  std::map<std::string, std::size_t> votes;
  for (const auto* snapshot : snapshots) {
    for_each_holder(*snapshot, [&](std::string who, const Inspection::Holder&) { ++votes[std::move(who)]; });
  }
  return std::ranges::any_of(
      votes, [&](const auto& entry) { return entry.second * 2 <= of && (entry.second + missing) * 2 > of; });
}

Inspection merged(std::vector<Inspection> snapshots, std::size_t of) {
  struct Votes {
    const Inspection* first = nullptr;
    Inspection::Holder holder;
    std::size_t count = 0;
  };
  std::map<std::string, Votes> all;
  for (const auto& snapshot : snapshots) {
    for_each_holder(snapshot, [&](std::string who, const Inspection::Holder& holder) {
      auto& votes = all[std::move(who)];
      if (votes.count++ == 0) {
        votes.first = &snapshot;
        votes.holder = holder;
      } else if (votes.holder.ttl_left && holder.ttl_left) {
        votes.holder.ttl_left = std::min(*votes.holder.ttl_left, *holder.ttl_left);
      }
    });
  }
  const auto longest = std::ranges::max_element(snapshots, {}, &Inspection::waiting);
  const auto most = std::ranges::max_element(all, {}, [](const auto& entry) { return entry.second.count; });
  Inspection result = most == all.end() ? *longest : *most->second.first;
  result.holders.clear();
  if (most != all.end()) {
    result.votes = most->second.count;
    for (const auto& [who, votes] : all) {
      if (votes.count == result.votes || votes.count * 2 > of) result.holders.push_back(votes.holder);
      // Of less than a majority, any one stands for all.
      if (result.votes * 2 <= of && !result.holders.empty()) break;
    }
  }
  // The queue stands at one of them.
  result.waiting = longest->waiting;
  result.waiters = longest->waiters;
  // A server that missed the last run has an earlier one.
  for (const auto& snapshot : snapshots) {
    const auto& run = snapshot.last_run;
    if (run && (!result.last_run || run->ended_us > result.last_run->ended_us)) result.last_run = run;
  }
  result.servers = of;
  return result;
}

}  // namespace rlock::lock
