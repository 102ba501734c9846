#include "stores/etcd/leases.hpp"

#include <algorithm>

namespace rlock::etcd {

void Leases::ends_within(LeaseId lease, base::Duration ttl) {
  const auto now = base::BootClock::now();
  std::erase_if(asked_, [&](const Asked& asked) { return asked.ends < now; });
  const auto it = std::ranges::find(asked_, lease, &Asked::id);
  // Twice: a member that becomes the leader gives each lease its whole ttl again.
  const auto ends = now + 2 * ttl;
  if (it == asked_.end()) {
    asked_.push_back({lease, ends});
  } else {
    it->ends = ends;
  }
}

std::vector<LeaseId> Leases::others(LeaseId kept) const {
  std::vector<LeaseId> others;
  for (const Asked& asked : asked_) {
    if (asked.id != kept) others.push_back(asked.id);
  }
  return others;
}

bool Leases::must_revoke(LeaseId kept) const {
  return std::ranges::any_of(asked_, [&](const Asked& a) { return a.id != kept && a.ends == base::never; });
}

}  // namespace rlock::etcd
