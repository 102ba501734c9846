#pragma once

#include <span>
#include <string>
#include <vector>

#include "lock/lease.hpp"
#include "show/view.hpp"

namespace rlock::show {

/// {"key", "token", "fence", "ttl_ms"} and a newline.
std::string lease_json(const std::string& key, const lock::Lease& lease, base::Duration ttl);

/// One lock as an object: {"version", "key", "held", ...}. docs/status.schema.json has its fields.
std::string lock_json(const ListedLock& snapshot);
/// {"version", "locks": [object, …]}, and "unseen": [{"server", "error"}, …] where servers did not answer.
std::string locks_json(const std::vector<ListedLock>& snapshots, std::span<const lock::Unseen> unseen);

/// Of the nlohmann-json inside: 3.11.2.
std::string json_library_version();

}  // namespace rlock::show
