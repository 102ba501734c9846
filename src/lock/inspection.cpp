#include "lock/inspection.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace rlock::lock {

Inspection merged(std::vector<Inspection> sights, std::size_t of) {
  // Holders are told apart by who they are: each server has a time of its own, and may have a fence of its own.
  std::map<std::string, std::vector<Inspection*>> holders;
  for (auto& sight : sights) {
    if (sight.state != Inspection::State::free) {
      holders[sight.holder ? sight.holder->who.encode() : ""].push_back(&sight);
    }
  }
  const auto by_count = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  const auto most = std::max_element(holders.begin(), holders.end(), by_count);
  const auto longest = std::ranges::max_element(sights, {}, &Inspection::waiting);
  Inspection result = most == holders.end() ? *longest : *most->second.front();
  if (most != holders.end()) {
    result.votes = most->second.size();
    for (const auto* sight : most->second) {
      if (result.ttl_left && sight->ttl_left) result.ttl_left = std::min(*result.ttl_left, *sight->ttl_left);
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
