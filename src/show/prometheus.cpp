#include "show/prometheus.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "base/text/text.hpp"

namespace rlock::show {

using lock::Inspection;

namespace {

// What a lock has of a metric; nullopt: nothing, and no line.
using Value = std::optional<std::string>;

std::string thousandths(std::int64_t n) {
  const auto rest = std::to_string(n % 1'000);
  return std::to_string(n / 1'000) + "." + std::string(3 - rest.size(), '0') + rest;
}

std::string seconds(base::Duration duration) { return thousandths(duration.count()); }

Value held_for(const Inspection& lock) {
  std::optional<base::Duration> longest;
  for (const auto& holder : lock.holders) {
    if (holder.record) longest = std::max(longest.value_or(base::Duration(0)), lock.age(holder.record->since_us));
  }
  return longest && lock.is_held() ? Value(seconds(*longest)) : std::nullopt;
}

Value lease_left(const Inspection& lock) {
  std::optional<base::Duration> least;
  for (const auto& holder : lock.holders) {
    if (holder.ttl_left) least = std::min(least.value_or(*holder.ttl_left), *holder.ttl_left);
  }
  return least && lock.is_held() ? Value(seconds(*least)) : std::nullopt;
}

Value time_of(std::optional<std::int64_t> us) { return us ? Value(thousandths(*us / 1'000)) : std::nullopt; }

struct Metric {
  const char* name;
  const char* help;
  Value (*of)(const Inspection& lock);
};

constexpr Metric per_lock[]{
    {"rlock_lock_held", "Whether the lock is held.",
     [](const Inspection& lock) { return Value(lock.is_held() ? "1" : "0"); }},
    {"rlock_lock_holders", "How many hold the lock; more than one of a shared lock or of slots.",
     [](const Inspection& lock) {
       return lock.unread ? Value() : Value(std::to_string(lock.is_held() ? lock.holders.size() : 0));
     }},
    {"rlock_lock_held_seconds", "How long the lock has been held, by the holder that has had it longest.", held_for},
    {"rlock_lock_lease_seconds", "How long the lease lasts unless renewed, of the holder whose lease ends first.",
     lease_left},
    {"rlock_lock_waiters", "How many wait for the lock.",
     [](const Inspection& lock) { return Value(std::to_string(lock.waiting)); }},
    {"rlock_lock_waiting_seconds", "How long the first of the queue has waited.",
     [](const Inspection& lock) {
       return lock.waiters.empty() ? Value() : Value(seconds(lock.age(lock.waiters.front().ticket)));
     }},
    {"rlock_last_run_end_timestamp_seconds", "When the last run of the lock ended, as the server remembers it.",
     [](const Inspection& lock) { return lock.last_run ? time_of(lock.last_run->ended_us) : Value(); }},
    {"rlock_last_run_duration_seconds", "How long it took.",
     [](const Inspection& lock) { return lock.last_run ? Value(seconds(lock.last_run->took)) : Value(); }},
    {"rlock_last_run_exit_status", "How it ended; 128 + n where signal n ended it.",
     [](const Inspection& lock) {
       return lock.last_run ? Value(std::to_string(lock.last_run->exit_status)) : Value();
     }},
    {"rlock_last_success_timestamp_seconds", "When a run of the lock last ended with 0.",
     [](const Inspection& lock) { return lock.last_run ? time_of(lock.last_run->succeeded_us) : Value(); }},
};

std::string heading(const std::string& name, const std::string& help) {
  return "# HELP " + name + " " + help + "\n# TYPE " + name + " gauge\n";
}

std::string up(const char* value) {
  return heading("rlock_up", "Whether the server answered.") + "rlock_up " + value + "\n";
}

std::string label_of(const std::string& key) {
  std::string label = "{key=\"";
  for (const char c : base::printable(key)) {
    if (c == '\\' || c == '"') label += '\\';
    label += c;
  }
  return label + "\"}";
}

}  // namespace

std::string metrics(const std::vector<ListedLock>& snapshots, std::size_t unseen) {
  // Two keys may look the same in print, and one line twice would spoil all: the second is left out.
  std::vector<std::pair<std::string, const Inspection*>> locks;
  std::set<std::string> seen;
  for (const auto& snapshot : snapshots) {
    auto label = label_of(snapshot.key);
    if (seen.insert(label).second) locks.emplace_back(std::move(label), &snapshot.lock);
  }
  auto text =
      up("1") +
      heading("rlock_unseen_servers", "How many masters of the Cluster did not answer: their locks are missing.") +
      "rlock_unseen_servers " + std::to_string(unseen) + "\n";
  for (const auto& metric : per_lock) {
    bool has_heading = false;
    for (const auto& [label, lock] : locks) {
      const auto value = metric.of(*lock);
      if (!value) continue;
      if (!std::exchange(has_heading, true)) text += heading(metric.name, metric.help);
      text.append(metric.name).append(label).append(" ").append(*value).append("\n");
    }
  }
  return text;
}

std::string metrics_of_outage() { return up("0"); }

}  // namespace rlock::show
