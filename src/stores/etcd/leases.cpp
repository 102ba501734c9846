#include "stores/etcd/leases.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text/text.hpp"

namespace rlock::etcd {

namespace {

// More than a holder with a usual ttl has at a time.
constexpr std::size_t max_named = 16;
constexpr int base_of_ids = 16;  // as etcdctl shows them

}  // namespace

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

bool Leases::has(LeaseId lease) const { return std::ranges::find(asked_, lease, &Asked::id) != asked_.end(); }

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

std::string session_of(std::span<const LeaseId> leases) {
  std::string session;
  for (const LeaseId lease : leases.last(std::min(leases.size(), max_named))) {
    std::array<char, base_of_ids> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), lease, base_of_ids).ptr;
    session += (session.empty() ? "" : ",") + std::string(digits.begin(), end);
  }
  return session;
}

std::vector<LeaseId> leases_of(std::string_view session) {
  std::vector<LeaseId> leases;
  while (!session.empty() && leases.size() < max_named) {
    const auto word = base::take_until(session, ',');
    LeaseId lease = 0;
    const char* const begin = word.data();
    const char* const end = begin + word.size();
    const auto [stopped, error] = std::from_chars(begin, end, lease, base_of_ids);
    if (error == std::errc{} && stopped == end && lease > 0) leases.push_back(lease);
  }
  return leases;
}

}  // namespace rlock::etcd
