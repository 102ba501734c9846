#include "show/status_table.hpp"

#include <algorithm>
#include <iterator>

#include "base/duration.hpp"
#include "base/exit_status.hpp"
#include "base/time_text.hpp"

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

Cell lease_cell(const Inspection::Holder& holder) {
  if (!holder.ttl_left) return {"no end", Style::bad};
  return {age_text(*holder.ttl_left)};
}

bool has_failed(const lock::LastRun& run) { return run.signal != 0 || run.exit_status != 0; }

std::string ending_text(const lock::LastRun& run) {
  if (run.signal != 0) return "signal " + std::to_string(run.signal);
  return "exit " + std::to_string(run.exit_status) + (run.exit_status == base::exit_timed_out ? " (timed out)" : "");
}

Cell last_run_cell(const Inspection& lock) {
  if (!lock.last_run) return {nothing, Style::faint};
  const auto& run = *lock.last_run;
  return {ending_text(run) + ", " + age_text(lock.age(run.ended_us)) + " ago",
          has_failed(run) ? Style::bad : Style::plain};
}

Row list_row(const ListedLock& sight) {
  const auto& lock = sight.lock;
  Row row{{sight.key}, state_cell(lock), holder_cell(lock)};
  if (lock.holders.empty()) {
    row.insert(row.end(), 2, {nothing, Style::faint});
  } else {
    row.push_back(held_cell(lock, lock.holders.front()));
    row.push_back(lease_cell(lock.holders.front()));
  }
  row.push_back(lock.waiting > 0 ? Cell{std::to_string(lock.waiting), Style::notable} : Cell{nothing, Style::faint});
  row.push_back(last_run_cell(lock));
  return row;
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

Row holder_row(const Inspection& lock, const Inspection::Holder& holder) {
  const auto& record = holder.record;
  const bool has_ended = record && record->has_ended;
  return {{who_text(lock, record) + (has_ended ? " (--hold)" : "")},
          held_cell(lock, holder),
          {record ? since_text(record->since_us) : nothing},
          lease_cell(holder),
          {record ? std::to_string(record->fence) : nothing},
          {label_of(record)},
          {command_of(record)}};
}

Row waiter_row(const Inspection& lock, const Inspection::Waiter& waiter, std::size_t position) {
  const auto& record = waiter.record;
  return {{count(position)},
          {record ? record->who.summary() : "(an rlock of another version)"},
          {age_text(lock.age(waiter.ticket))},
          {since_text(waiter.ticket)},
          {record ? mode_text(record->mode) : nothing},
          {label_of(record)},
          {command_of(record)}};
}

// Without the last columns that all rows leave empty.
class Block {
 public:
  Block(std::vector<std::string> headings, std::vector<Row> rows) {
    while (std::ranges::all_of(rows, [&](const Row& row) { return row.back().text.empty(); })) {
      headings.pop_back();
      for (auto& row : rows) row.pop_back();
    }
    table_ = Table(headings);
    for (auto& row : rows) table_.add(std::move(row));
  }

  void append_to(std::vector<std::string>& lines, const Layout& layout) const {
    lines.emplace_back();
    std::ranges::move(table_.lines(layout), std::back_inserter(lines));
  }

 private:
  Table table_;
};

}  // namespace

std::vector<std::string> list_lines(std::span<const ListedLock> sights, const Layout& layout) {
  Table table({"KEY", "STATE", "HOLDER", "HELD", "LEASE", "WAITING", "LAST RUN"}, {0, 2});
  for (const auto& sight : sights) table.add(list_row(sight));
  return table.lines(layout);
}

std::vector<std::string> detail_lines(const ListedLock& sight, const Layout& layout) {
  const auto& lock = sight.lock;
  Table head;
  const auto add = [&](const char* name, Cell cell) { head.add({{name, Style::strong}, std::move(cell)}); };
  add("key", {sight.key});
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

  std::vector<Row> holders;
  for (const auto& holder : lock.holders) holders.push_back(holder_row(lock, holder));
  if (!holders.empty()) {
    Block({"HOLDER", "HELD", "SINCE", "LEASE", "FENCE", "LABEL", "COMMAND"}, std::move(holders))
        .append_to(lines, layout);
  }
  std::vector<Row> waiters;
  for (const auto& waiter : lock.waiters) waiters.push_back(waiter_row(lock, waiter, waiters.size() + 1));
  if (!waiters.empty()) {
    Block({"#", "WAITER", "WAITING", "SINCE", "MODE", "LABEL", "COMMAND"}, std::move(waiters)).append_to(lines, layout);
  }
  const auto hidden = lock.waiting - static_cast<std::int64_t>(lock.waiters.size());
  if (hidden > 0 && !lock.waiters.empty()) lines.push_back("... and " + std::to_string(hidden) + " more");
  return lines;
}

}  // namespace rlock::show
