#include "commands/output.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/duration.hpp"
#include "base/text.hpp"

namespace rlock::commands {
namespace {

using json = nlohmann::ordered_json;

constexpr std::int64_t us_per_ms = 1'000;
constexpr std::int64_t us_per_s = 1'000'000;

// The version of all JSON here. It grows when a field is removed or changes its meaning, not when one is added.
constexpr int json_version = 1;

// ASCII only, whatever the bytes are: it may be shown on a terminal (R24 of tests/PROOFS.md).
std::string dump(const json& value) { return value.dump(-1, ' ', true, json::error_handler_t::replace) + "\n"; }

std::string utc(std::int64_t us) {
  const std::time_t seconds = us / us_per_s;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

// Both values come from other hosts and may be anything: unsigned, so that their difference cannot overflow.
std::int64_t age_ms(const lock::Inspection& lock, std::int64_t since_us) {
  if (since_us >= lock.now_us) return 0;
  const auto us = static_cast<std::uint64_t>(lock.now_us) - static_cast<std::uint64_t>(since_us);
  return static_cast<std::int64_t>(us / us_per_ms);
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
    value["held_ms"] = age_ms(lock, holder.record->since_us);
    value["fence"] = holder.record->fence;
    if (holder.record->has_ended) value["hold"] = true;
  } else if (lock.state == lock::Inspection::State::foreign) {
    value["foreign"] = true;
  }
  value["ttl_ms"] = holder.ttl_left ? json(holder.ttl_left->count()) : json(nullptr);
  return value;
}

json to_json(const lock::Inspection& lock, const lock::Inspection::Waiter& waiter) {
  auto value = waiter.record ? who_json(waiter.record->who) : json::object();
  value["since"] = utc(waiter.ticket);
  value["waiting_ms"] = age_ms(lock, waiter.ticket);
  if (waiter.record) value.update(to_json(waiter.record->mode));
  return value;
}

json to_json(const ListedLock& sight) {
  const auto& lock = sight.lock;
  json value{{"key", sight.key}, {"held", lock.is_held()}};
  if (lock.servers > 0) value.update({{"votes", lock.votes}, {"servers", lock.servers}});
  if (lock.state == lock::Inspection::State::held) value.update(to_json(lock.mode));
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

// Seconds are fine enough for people, once there are any.
std::string age_text(std::int64_t ms) {
  return base::format_duration(base::Duration(ms < 1000 ? ms : ms / 1000 * 1000));
}

using Row = std::array<std::string, 6>;

std::string state_text(const lock::Inspection& lock) {
  if (lock.state == lock::Inspection::State::free) return "free";
  if (!lock.is_held()) return "not held: " + std::to_string(lock.votes) + " of " + std::to_string(lock.servers);
  switch (lock.mode.kind) {
    case lock::Mode::Kind::exclusive:
      break;
    case lock::Mode::Kind::shared:
      return "shared";
    case lock::Mode::Kind::slots:
      return std::to_string(lock.holders.size()) + " of " + std::to_string(lock.mode.slots) + " slots";
  }
  return "held";
}

Row holder_row(const lock::Inspection& lock, const lock::Inspection::Holder& holder) {
  Row row;
  if (holder.record) {
    if (lock.is_held() && holder.record->has_ended) row[1] = " (--hold)";
    row[2] = base::printable(holder.record->who.summary());
    row[3] = age_text(age_ms(lock, holder.record->since_us));
    row[5] = std::to_string(holder.record->fence) +
             (holder.record->who.command.empty() ? "" : "  " + base::printable(holder.record->who.command));
  } else {
    row[2] = lock.state == lock::Inspection::State::foreign ? "(not an rlock)" : "(an rlock of another version)";
  }
  row[4] = holder.ttl_left ? age_text(holder.ttl_left->count()) : "none";
  return row;
}

// The lock, and each of its holders in a row.
std::vector<Row> lock_rows(const ListedLock& sight) {
  std::vector<Row> rows;
  for (const auto& holder : sight.lock.holders) rows.push_back(holder_row(sight.lock, holder));
  if (rows.empty()) rows.emplace_back();
  rows.front()[0] = base::printable(sight.key);
  rows.front()[1] = state_text(sight.lock) + rows.front()[1];
  return rows;
}

Row waiter_row(const lock::Inspection& lock, const lock::Inspection::Waiter& waiter) {
  Row row{"", "waits", "", age_text(age_ms(lock, waiter.ticket)), "", ""};
  if (waiter.record) {
    if (waiter.record->mode.kind == lock::Mode::Kind::shared) row[1] = "waits, shared";
    row[2] = base::printable(waiter.record->who.summary());
    row[5] = base::printable(waiter.record->who.command);
  }
  return row;
}

Row last_run_row(const lock::Inspection& lock, const lock::LastRun& run) {
  const auto how = run.signal != 0 ? "signal " + std::to_string(run.signal) : "exit " + std::to_string(run.exit_status);
  return {"",
          "ran",
          base::printable(run.who.summary()),
          age_text(run.took.count()),
          "",
          how + ", " + age_text(age_ms(lock, run.ended_us)) + " ago" +
              (run.who.command.empty() ? "" : "  " + base::printable(run.who.command))};
}

// Columns as wide as their widest cell; a character of UTF-8 counts as one.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

}  // namespace

std::string lease_json(const std::string& key, const lock::Lease& lease, base::Duration ttl) {
  return dump({{"version", json_version},
               {"key", key},
               {"token", lease.token},
               {"fence", lease.fence},
               {"ttl_ms", ttl.count()}});
}

std::string lock_json(const ListedLock& sight) {
  json value{{"version", json_version}};
  value.update(to_json(sight));
  return dump(value);
}

std::string locks_json(const std::vector<ListedLock>& sights) {
  json value{{"version", json_version}, {"locks", json::array()}};
  for (const auto& sight : sights) value["locks"].push_back(to_json(sight));
  return dump(value);
}

std::string key_lines(const std::vector<std::string>& keys) {
  std::string lines;
  for (const auto& key : keys) lines += base::printable(key) + "\n";
  return lines;
}

std::string locks_table(const std::vector<ListedLock>& sights) {
  std::vector<Row> rows{{"KEY", "STATE", "WHO", "FOR", "TTL", "FENCE"}};
  for (const auto& sight : sights) {
    std::ranges::move(lock_rows(sight), std::back_inserter(rows));
    for (const auto& waiter : sight.lock.waiters) rows.push_back(waiter_row(sight.lock, waiter));
    if (const auto hidden = sight.lock.waiting - static_cast<std::int64_t>(sight.lock.waiters.size()); hidden > 0) {
      rows.push_back({"", "waits", "and " + std::to_string(hidden) + " more", "", "", ""});
    }
    if (sight.lock.last_run) rows.push_back(last_run_row(sight.lock, *sight.lock.last_run));
  }
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const auto& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], width_of(row[column]));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      line += row[column] + std::string(widths[column] - width_of(row[column]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace rlock::commands
