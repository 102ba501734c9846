#pragma once

#include <string>
#include <vector>

#include "commands/view.hpp"
#include "lock/lease.hpp"

namespace rlock::commands {

/// {"key", "token", "fence", "ttl_ms"} and a newline.
std::string lease_json(const std::string& key, const lock::Lease& lease, base::Duration ttl);

/// One lock as an object: {"version", "key", "held", "holders", "waiting", "waiters"}. The manual has its fields.
std::string lock_json(const ListedLock& sight);
/// {"version", "locks": [object, …]}
std::string locks_json(const std::vector<ListedLock>& sights);

/// A key in each line, with what could steer a terminal escaped.
std::string key_lines(const std::vector<std::string>& keys);

/// An aligned table with a heading: a line a lock, and below it a line a waiter, in order.
std::string locks_table(const std::vector<ListedLock>& sights);

}  // namespace rlock::commands
