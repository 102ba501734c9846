#include "show/status_table.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/text/duration.hpp"
#include "base/text/time_text.hpp"
#include "show/messages.hpp"

namespace rlock::show {

using base::age_text;
using lock::Inspection;

namespace {

constexpr const char* nothing = "-";

std::string count(std::size_t n) { return std::to_string(n); }

bool is_on_hold(const Inspection& lock) {
  return !lock.holders.empty() && std::ranges::all_of(lock.holders, [](const Inspection::Holder& holder) {
    return holder.record && holder.record->has_ended;
  });
}

Cell state_cell(const Inspection& lock) {
  if (lock.state == Inspection::State::free) return {"free", Style::faint};
  if (!lock.is_held()) return {"not held: " + count(lock.votes) + " of " + count(lock.servers), Style::bad};
  if (lock.is_other_data) return {"not a lock", Style::bad};
  if (is_on_hold(lock)) return {"on hold", Style::notable};
  switch (lock.mode.kind) {
    case lock::Mode::Kind::exclusive:
      break;
    case lock::Mode::Kind::shared:
      return {"shared " + count(lock.holders.size()), Style::good};
    case lock::Mode::Kind::slots:
      return {"slots " + count(lock.holders.size()) + " of " + std::to_string(lock.mode.slots), Style::good};
  }
  return {"held", Style::good};
}

std::string who_text(const Inspection& lock, const std::optional<lock::Record>& record) {
  if (record) return record->who.summary();
  if (lock.is_other_data) return "(other data, not a lock)";
  return lock.state == Inspection::State::foreign ? "(not an rlock)" : "(an rlock of another version)";
}

Cell holder_cell(const Inspection& lock) {
  if (lock.unread) return {"(cannot be read)", Style::bad};
  if (lock.holders.empty()) return {nothing, Style::faint};
  const auto& first = lock.holders.front().record;
  auto text = first && !first->who.label.empty() ? first->who.label : who_text(lock, first);
  if (lock.holders.size() > 1) text += " + " + count(lock.holders.size() - 1);
  return {std::move(text)};
}

Cell held_cell(const Inspection& lock, const Inspection::Holder& holder) {
  if (!holder.record) return {nothing, Style::faint};
  return {age_text(lock.age(holder.record->since_us))};
}

Cell lease_cell(const Inspection& /*lock*/, const Inspection::Holder& holder) {
  if (!holder.ttl_left) return {"no end", Style::bad};
  return {age_text(*holder.ttl_left)};
}

bool has_failed(const lock::LastRun& run) { return run.signal != 0 || run.exit_status != 0; }

Cell waiting_cell(const Inspection& lock) {
  return lock.waiting > 0 ? Cell{std::to_string(lock.waiting), Style::notable} : Cell{nothing, Style::faint};
}

Cell last_run_cell(const Inspection& lock) {
  if (!lock.last_run) return {nothing, Style::faint};
  const auto& run = *lock.last_run;
  return {ending_text(run) + ", " + age_text(lock.age(run.ended_us)) + " ago",
          has_failed(run) ? Style::bad : Style::plain};
}

std::string mode_text(const lock::Mode& mode) {
  switch (mode.kind) {
    case lock::Mode::Kind::exclusive:
      break;
    case lock::Mode::Kind::shared:
      return "shared";
    case lock::Mode::Kind::slots:
      return std::to_string(mode.slots) + " slots";
  }
  return "exclusive";
}

// As messages have it.
std::string since_text(std::int64_t us) { return us > 0 ? base::local_time_text(us) : nothing; }

std::string when_text(const Inspection& lock, std::int64_t us) {
  return base::local_time_text(us) + " (" + age_text(lock.age(us)) + " ago)";
}

// Of a short run the milliseconds.
std::string took_text(base::Duration took) {
  return took < std::chrono::seconds(1) ? base::format_duration(took) : age_text(took);
}

std::string label_of(const std::optional<lock::Record>& record) { return record ? record->who.label : ""; }
std::string command_of(const std::optional<lock::Record>& record) { return record ? record->who.command : ""; }

// A column of a table: what stands over it, and what it says of an entry.
template <class Entry>
struct Column {
  const char* heading;
  Cell (*cell)(const Entry&);
  bool may_shrink = false;
};

// A cell of what the first holder has.
template <Cell (*cell)(const Inspection&, const Inspection::Holder&)>
Cell of_first_holder(const ListedLock& snapshot) {
  const auto& lock = snapshot.lock;
  return lock.holders.empty() ? Cell{nothing, Style::faint} : cell(lock, lock.holders.front());
}

constexpr Column<ListedLock> list_columns[]{
    {"KEY", [](const ListedLock& snapshot) -> Cell { return {snapshot.key}; }, true},
    {"STATE", [](const ListedLock& snapshot) { return state_cell(snapshot.lock); }},
    {"HOLDER", [](const ListedLock& snapshot) { return holder_cell(snapshot.lock); }, true},
    {"HELD", of_first_holder<held_cell>},
    {"LEASE", of_first_holder<lease_cell>},
    {"WAITING", [](const ListedLock& snapshot) { return waiting_cell(snapshot.lock); }},
    {"LAST RUN", [](const ListedLock& snapshot) { return last_run_cell(snapshot.lock); }},
};

struct HolderEntry {
  const Inspection& lock;
  const Inspection::Holder& holder;
  const std::optional<lock::Record>& record = holder.record;
};

constexpr Column<HolderEntry> holder_columns[]{
    {"HOLDER",
     [](const HolderEntry& entry) -> Cell {
       const bool has_ended = entry.record && entry.record->has_ended;
       return {who_text(entry.lock, entry.record) + (has_ended ? " (--hold)" : "")};
     },
     true},
    {"HELD", [](const HolderEntry& entry) { return held_cell(entry.lock, entry.holder); }},
    {"SINCE",
     [](const HolderEntry& entry) -> Cell { return {entry.record ? since_text(entry.record->since_us) : nothing}; }},
    {"LEASE", [](const HolderEntry& entry) { return lease_cell(entry.lock, entry.holder); }},
    {"FENCE",
     [](const HolderEntry& entry) -> Cell { return {entry.record ? std::to_string(entry.record->fence) : nothing}; }},
    {"LABEL", [](const HolderEntry& entry) -> Cell { return {label_of(entry.record)}; }, true},
    {"COMMAND", [](const HolderEntry& entry) -> Cell { return {command_of(entry.record)}; }, true},
};

struct WaiterEntry {
  const Inspection& lock;
  const Inspection::Waiter& waiter;
  std::size_t position;
  const std::optional<lock::Record>& record = waiter.record;
};

constexpr Column<WaiterEntry> waiter_columns[]{
    {"#", [](const WaiterEntry& entry) -> Cell { return {count(entry.position)}; }},
    {"WAITER",
     [](const WaiterEntry& entry) -> Cell {
       return {entry.record ? entry.record->who.summary() : "(an rlock of another version)"};
     },
     true},
    {"WAITING", [](const WaiterEntry& entry) -> Cell { return {age_text(entry.lock.age(entry.waiter.ticket))}; }},
    {"SINCE", [](const WaiterEntry& entry) -> Cell { return {since_text(entry.waiter.ticket)}; }},
    {"MODE", [](const WaiterEntry& entry) -> Cell { return {entry.record ? mode_text(entry.record->mode) : nothing}; }},
    {"LABEL", [](const WaiterEntry& entry) -> Cell { return {label_of(entry.record)}; }, true},
    {"COMMAND", [](const WaiterEntry& entry) -> Cell { return {command_of(entry.record)}; }, true},
};

// Without the last columns that all entries leave empty.
template <class Entry>
std::vector<std::string> lines_of(std::span<const Column<Entry>> columns, std::span<const Entry> entries,
                                  const Layout& layout) {
  const auto is_empty = [&](const Entry& entry) { return columns.back().cell(entry).text.empty(); };
  while (!entries.empty() && std::ranges::all_of(entries, is_empty)) columns = columns.first(columns.size() - 1);
  std::vector<std::string> headings;
  std::vector<std::size_t> shrinking;
  for (const auto& column : columns) {
    if (column.may_shrink) shrinking.push_back(headings.size());
    headings.emplace_back(column.heading);
  }
  Table table(headings, std::move(shrinking));
  for (const auto& entry : entries) {
    Row row;
    for (const auto& column : columns) row.push_back(column.cell(entry));
    table.add(std::move(row));
  }
  return table.lines(layout);
}

template <class Entry>
void append(std::vector<std::string>& lines, std::span<const Column<Entry>> columns, const std::vector<Entry>& entries,
            const Layout& layout) {
  if (entries.empty()) return;
  lines.emplace_back();
  std::ranges::move(lines_of<Entry>(columns, entries, layout), std::back_inserter(lines));
}

}  // namespace

std::vector<std::string> list_lines(std::span<const ListedLock> snapshots, const Layout& layout) {
  return lines_of<ListedLock>(list_columns, snapshots, layout);
}

std::vector<std::string> detail_lines(const ListedLock& snapshot, const Layout& layout) {
  const auto& lock = snapshot.lock;
  Table head;
  const auto add = [&](const char* name, Cell cell) { head.add({{name, Style::strong}, std::move(cell)}); };
  add("key", {snapshot.key});
  const bool is_unknown = lock.state == Inspection::State::free && lock.waiting == 0 && !lock.last_run;
  auto state = state_cell(lock);
  if (is_unknown) state.text += " (nothing is known of it: never used, or long ago)";
  add("state", std::move(state));
  if (lock.state == Inspection::State::held) add("mode", {mode_text(lock.mode)});
  if (lock.servers > 0) add("servers", {count(lock.votes) + " of " + count(lock.servers) + " say so"});
  if (lock.waiting > 0) add("waiting", {std::to_string(lock.waiting), Style::notable});
  if (lock.last_run) {
    const auto& run = *lock.last_run;
    add("last run", {ending_text(run) + " at " + when_text(lock, run.ended_us) + ", took " + took_text(run.took) +
                         ", " + run.who.summary(),
                     has_failed(run) ? Style::bad : Style::plain});
    if (!run.who.label.empty()) add("", {run.who.label});
    if (!run.who.command.empty()) add("", {run.who.command});
    if (has_failed(run) && run.succeeded_us) add("last success", {when_text(lock, *run.succeeded_us)});
  }
  auto lines = head.lines(layout);

  std::vector<HolderEntry> holders;
  for (const auto& holder : lock.holders) holders.push_back({lock, holder});
  append<HolderEntry>(lines, holder_columns, holders, layout);
  std::vector<WaiterEntry> waiters;
  for (const auto& waiter : lock.waiters) waiters.push_back({lock, waiter, waiters.size() + 1});
  append<WaiterEntry>(lines, waiter_columns, waiters, layout);
  const auto hidden = lock.waiting - static_cast<std::int64_t>(lock.waiters.size());
  if (hidden > 0 && !lock.waiters.empty()) lines.push_back("... and " + std::to_string(hidden) + " more");
  return lines;
}

}  // namespace rlock::show
