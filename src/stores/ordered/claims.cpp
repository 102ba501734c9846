#include "stores/ordered/claims.hpp"

#include <algorithm>
#include <utility>

namespace rlock::ordered {

using base::BootClock;
using base::Instant;

void Claims::moved() { moved_at_ = BootClock::now(); }

std::vector<Entry> Claims::lapsed(std::span<const Listed> heads) {
  const auto now = BootClock::now();
  const auto turn_since = std::exchange(moved_at_, std::nullopt).value_or(now);
  std::vector<Entry> lapsed;
  for (const auto& before = std::exchange(seen_, {}); const auto& head : heads) {
    if (!head.record || head.record->state != Record::State::waits) continue;
    const auto known = before.find(head.entry.token);
    const bool is_same = known != before.end() && known->second.version == head.entry.version;
    const auto since = is_same ? known->second.since : turn_since;
    seen_[head.entry.token] = {head.entry.version, since};
    if (now >= since + claim) lapsed.push_back(head.entry);
  }
  return lapsed;
}

Instant Claims::next() const {
  auto next = moved_at_ ? *moved_at_ + claim : base::never;
  for (const auto& [token, seen] : seen_) next = std::min<Instant>(next, seen.since + claim);
  return next;
}

}  // namespace rlock::ordered
