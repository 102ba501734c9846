#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "stores/etcd/client.hpp"
#include "stores/etcd/requests.hpp"

/// What etcd's gateway answers. A field that is left out is 0, empty or false. Numbers are bounded (R36 of
/// tests/PROOFS.md), and nothing here throws, whatever has answered; nullopt: it makes no sense.
namespace rlock::etcd {

struct KeyValue {
  std::string key;
  std::string value;
  std::uint64_t created = 0;  ///< create_revision
  std::uint64_t version = 0;  ///< mod_revision
  LeaseId lease = 0;
};

/// What one step of a transaction has done.
struct StepResult {
  std::vector<KeyValue> found;  ///< of an end: what it was
  std::int64_t count = 0;       ///< of the whole range
};

struct Outcome {
  bool held = false;           ///< whether all conditions did
  std::uint64_t revision = 0;  ///< of the store behind it
  std::vector<StepResult> steps;
};

std::optional<Outcome> read_transaction(const nlohmann::json& answer);
std::optional<StepResult> read_range(const nlohmann::json& answer);

/// Of a grant, of keep_alive() and of time_to_live(): the seconds; 0 or less: there is no such lease, or hardly.
std::optional<std::int64_t> read_seconds(const nlohmann::json& answer);

/// Of keys_under(): whether the lease is there, and nothing is under it.
bool is_idle_lease(const nlohmann::json& answer);

/// A message of a watch.
struct News {
  std::vector<std::string> gone{};  ///< keys
  bool has_writes = false;
  bool is_compacted = false;  ///< the watch is over: what it was to tell of first is no longer known
  std::string ended{};        ///< the watch is over for this reason; printable
};
std::optional<News> read_news(const nlohmann::json& message);

/// The lease that a transaction puts something under, or that is to be revoked, is not there.
bool is_no_lease(const Refusal& refusal);
/// The answer had more than 8 MiB: less has to be asked for.
bool is_too_long(const Answer& answer);
/// A lease with this id is there.
bool is_lease_there(const Refusal& refusal);

}  // namespace rlock::etcd
