#include "lock/inspection.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace rlock::lock {

Inspection merged(std::vector<Inspection> sights, std::size_t of) {
  // Holders are told apart by who they are: each server has a time of its own, and may have a fence of its own.
  struct Votes {
    const Inspection* first = nullptr;
    Inspection::Holder holder;
    std::size_t count = 0;
  };
  std::map<std::string, Votes> all;
  for (const auto& sight : sights) {
    std::map<std::string, int> met;  // a shell may hold a shared lock twice
    for (const auto& holder : sight.holders) {
      auto who = holder.record ? holder.record->mode.encode() + " " + holder.record->who.encode() : "";
      who += " " + std::to_string(met[who]++);
      auto& votes = all[who];
      if (votes.count++ == 0) {
        votes.first = &sight;
        votes.holder = holder;
      } else if (votes.holder.ttl_left && holder.ttl_left) {
        votes.holder.ttl_left = std::min(*votes.holder.ttl_left, *holder.ttl_left);
      }
    }
  }
  const auto longest = std::ranges::max_element(sights, {}, &Inspection::waiting);
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
  // Whichever server missed the last one tells of one before.
  for (const auto& sight : sights) {
    const auto& run = sight.last_run;
    if (run && (!result.last_run || run->ended_us > result.last_run->ended_us)) result.last_run = run;
  }
  result.servers = of;
  return result;
}

}  // namespace rlock::lock
