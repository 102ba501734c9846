#include "stores/etcd/shared_lease.hpp"

#include <algorithm>
#include <string>

#include "base/text/hash.hpp"

namespace rlock::etcd {

namespace {

using namespace std::chrono_literals;

constexpr base::Duration shortest = 1min;
constexpr base::Duration longest = 24h;
// The members' clocks may differ, and show whole seconds.
constexpr base::Duration slack = 1min;

}  // namespace

// Whoever is the first within a span of time grants it, so that it lasts for that span and what is kept at its end.
SharedLease shared_lease(std::string_view what, base::Duration remembered, std::int64_t now_us) {
  const auto span = std::clamp(remembered / 8, shortest, longest);
  const auto number = now_us / std::chrono::microseconds(span).count();
  const auto seconds = lease_seconds(remembered + span + slack);
  const auto name = "rlock " + std::string(what) + " " + std::to_string(seconds) + " " + std::to_string(number);
  return {static_cast<LeaseId>(base::hash_of(name) >> 1 | 1U), std::chrono::seconds(seconds)};
}

}  // namespace rlock::etcd
