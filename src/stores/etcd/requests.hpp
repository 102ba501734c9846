#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/wait/clock.hpp"
#include "stores/etcd/client.hpp"
#include "stores/etcd/keys.hpp"

/// The requests of etcd's API as its gateway wants them: bytes in base64, numbers of 64 bits as text.
namespace rlock::etcd {

using LeaseId = std::int64_t;

/// Random, and never 0.
LeaseId random_lease();

/// etcd counts in whole seconds: the next one.
std::int64_t lease_seconds(base::Duration ttl);

Call grant(LeaseId lease, base::Duration ttl);
Call revoke(LeaseId lease);
Call keep_alive(LeaseId lease);
Call time_to_live(LeaseId lease);
/// The same, with the keys that are under it.
Call keys_under(LeaseId lease);

/// Conditions of a transaction.
nlohmann::json is_absent(const std::string& key);
/// The key is there since this revision.
nlohmann::json is_made_at(const std::string& key, std::uint64_t revision);
nlohmann::json is_present(const std::string& key);
/// No key is there.
nlohmann::json is_empty(const Range& range);
/// The last write of the key was the one of this revision.
nlohmann::json is_of_version(const std::string& key, std::uint64_t version);

/// Steps of a transaction.
nlohmann::json put(const std::string& key, const std::string& value, LeaseId lease);
/// Finds what it ends.
nlohmann::json erase(const std::string& key);
nlohmann::json get(const std::string& key);
/// The keys alone, in the order in which they were made; before: only those made before this revision, 0: all.
nlohmann::json names_in(const Range& range, std::uint64_t before = 0);
/// The last of them in the order in which they were made, the last one first, without values; most: at least 1.
nlohmann::json last_names_in(const Range& range, std::int64_t most);
/// The key alone, as the member that is asked has it: it may be behind the others.
nlohmann::json local_name(const std::string& key);
/// The first of them in the order in which they were made, with their values; most: at least 1.
nlohmann::json first_in(const Range& range, std::int64_t most);

/// The steps of `then` where all conditions hold, else those of `otherwise`. One of them may be empty.
Call transaction(std::vector<nlohmann::json> conditions, std::vector<nlohmann::json> then,
                 std::vector<nlohmann::json> otherwise = {});
enum class Reads {
  local,    ///< what the member that is asked has: it may be behind the others
  majority  ///< what the majority has decided
};
/// At most `most` keys, in their own order, without values.
Call page_of(const Range& range, std::int64_t most, Reads reads = Reads::majority);

enum class Writes { no, yes };
/// A stream of what happens from this revision on; without the writes only of what goes.
Call watch(const Range& range, std::uint64_t from_revision, Writes writes);
/// A key alone.
Call watch(const std::string& key, std::uint64_t from_revision, Writes writes);

}  // namespace rlock::etcd
