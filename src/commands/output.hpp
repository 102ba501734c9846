#pragma once

#include <string>
#include <vector>

#include "lock/inspection.hpp"
#include "lock/lease.hpp"

namespace rlock::commands {

/// A lock in the list that status prints.
struct ListedLock {
  std::string key;
  lock::Inspection lock;
};

/// {"key", "token", "fence", "ttl_ms"} and a newline.
std::string lease_json(const std::string& key, const lock::Lease& lease, base::Duration ttl);

/// One lock as an object: {"version", "key", "held", "holders", "waiting", "waiters"}. The README has its fields.
std::string lock_json(const ListedLock& sight);
/// {"version", "locks": [object, …]}
std::string locks_json(const std::vector<ListedLock>& sights);

/// An aligned table with a heading: a line a lock, and below it a line a waiter, in order.
std::string locks_table(const std::vector<ListedLock>& sights);

}  // namespace rlock::commands
