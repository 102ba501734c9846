#pragma once

#include <string>
#include <vector>

#include "lock/inspection.hpp"
#include "lock/lease.hpp"

namespace rlock::commands {

/// A lock as status shows it.
struct Sight {
  std::string key;
  lock::Inspection lock;
};

/// {"key", "token", "fence", "ttl_ms"} and a newline.
std::string lease_json(const std::string& key, const lock::Lease& lease, base::Duration ttl);

/// One lock as an object: {"version", "key", "held", "holders", "waiting", "waiters"}. The README has its fields.
std::string sight_json(const Sight& sight);
/// {"version", "locks": [object, …]}
std::string sights_json(const std::vector<Sight>& sights);

/// An aligned table with a heading: a line a lock, and below it a line a waiter, in order.
std::string sights_table(const std::vector<Sight>& sights);

}  // namespace rlock::commands
