#include "show/json.hpp"

#include <nlohmann/json.hpp>

#include "base/text/time_text.hpp"

namespace rlock::show {
namespace {

using json = nlohmann::ordered_json;

// The version of all JSON here. It grows when a field is removed or changes its meaning, not when one is added.
constexpr int json_version = 1;

// ASCII only, whatever the bytes are: it may be shown on a terminal (R24 of tests/PROOFS.md).
std::string dump(const json& value) { return value.dump(-1, ' ', true, json::error_handler_t::replace) + "\n"; }

// null where the time cannot be one, which comes from another host.
json utc(std::int64_t us) {
  const auto text = base::rfc3339(us);
  return text ? json(*text) : json(nullptr);
}

json who_json(const lock::Who& who) {
  json value{{"host", who.host}, {"pid", who.pid}, {"user", who.user}};
  if (!who.command.empty()) value["command"] = who.command;
  if (!who.label.empty()) value["label"] = who.label;
  return value;
}

json last_run_json(const lock::LastRun& run) {
  auto value = who_json(run.who);
  value["started"] = utc(run.started_us());
  value["ended"] = utc(run.ended_us);
  value["took_ms"] = run.took.count();
  value["succeeded"] = run.succeeded_us ? utc(*run.succeeded_us) : json(nullptr);
  value["exit_status"] = run.exit_status;
  if (run.signal != 0) value["signal"] = run.signal;
  return value;
}

json to_json(const lock::Mode& mode) {
  switch (mode.kind) {
    case lock::Mode::Kind::exclusive:
      break;
    case lock::Mode::Kind::shared:
      return {{"mode", "shared"}};
    case lock::Mode::Kind::slots:
      return {{"mode", "slots"}, {"slots", mode.slots}};
  }
  return {{"mode", "exclusive"}};
}

json to_json(const lock::Inspection& lock, const lock::Inspection::Holder& holder) {
  auto value = json::object();
  if (holder.record) {
    value = who_json(holder.record->who);
    value["since"] = utc(holder.record->since_us);
    value["held_ms"] = lock.age(holder.record->since_us).count();
    value["fence"] = holder.record->fence;
    if (holder.record->has_ended) value["hold"] = true;
  } else if (lock.state == lock::Inspection::State::foreign) {
    value["foreign"] = true;
    if (lock.is_other_data) value["other_data"] = true;
  }
  value["ttl_ms"] = holder.ttl_left ? json(holder.ttl_left->count()) : json(nullptr);
  return value;
}

json to_json(const lock::Inspection& lock, const lock::Inspection::Waiter& waiter) {
  auto value = waiter.record ? who_json(waiter.record->who) : json::object();
  value["since"] = utc(waiter.ticket);
  value["waiting_ms"] = lock.age(waiter.ticket).count();
  if (waiter.record) value.update(to_json(waiter.record->mode));
  return value;
}

json to_json(const ListedLock& snapshot) {
  const auto& lock = snapshot.lock;
  json value{{"key", snapshot.key}, {"held", lock.is_held()}};
  if (lock.servers > 0) value.update({{"votes", lock.votes}, {"servers", lock.servers}});
  if (lock.unread) {
    value["error"] = lock.unread->message;
  } else if (lock.state == lock::Inspection::State::held) {
    value.update(to_json(lock.mode));
  }
  value["holders"] = json::array();
  if (lock.is_held()) {
    for (const auto& holder : lock.holders) value["holders"].push_back(to_json(lock, holder));
  }
  value["waiting"] = lock.waiting;
  value["waiters"] = json::array();
  for (const auto& waiter : lock.waiters) value["waiters"].push_back(to_json(lock, waiter));
  value["last_run"] = lock.last_run ? last_run_json(*lock.last_run) : json(nullptr);
  return value;
}

}  // namespace

std::string lease_json(const std::string& key, const lock::Lease& lease, base::Duration ttl) {
  return dump({{"version", json_version},
               {"key", key},
               {"token", lease.token},
               {"fence", lease.fence},
               {"ttl_ms", ttl.count()}});
}

std::string lock_json(const ListedLock& snapshot) {
  json value{{"version", json_version}};
  value.update(to_json(snapshot));
  return dump(value);
}

std::string locks_json(const std::vector<ListedLock>& snapshots, std::span<const lock::Unseen> unseen) {
  json value{{"version", json_version}, {"locks", json::array()}};
  for (const auto& snapshot : snapshots) value["locks"].push_back(to_json(snapshot));
  for (const auto& [server, error] : unseen) value["unseen"].push_back({{"server", server}, {"error", error.message}});
  return dump(value);
}

std::string json_library_version() { return json::meta()["version"]["string"]; }

}  // namespace rlock::show
