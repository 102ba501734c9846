#include "show/messages.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/exit_status.hpp"
#include "base/terminal/display.hpp"
#include "base/text/duration.hpp"
#include "base/text/time_text.hpp"

namespace rlock::show {
namespace {

// Of a label, which may be a long URL, in a line that has more to say.
constexpr std::size_t max_label_columns = 100;

base::LogEvent lost_event(const std::string& key, int exit_status) {
  return {"lost", {{"key", key}, {"exit_status", std::int64_t{exit_status}}}};
}

}  // namespace

std::string holder_text(const lock::Record& holder) {
  std::string text = holder.who.summary();
  if (!holder.who.label.empty()) text += " (" + base::cut_to_width(holder.who.label, max_label_columns) + ")";
  if (holder.since_us > 0) text += " since " + base::local_time_text(holder.since_us);
  return text;
}

base::LogFields holder_fields(const lock::Record& holder) {
  base::LogFields fields{{"host", holder.who.host},
                         {"pid", std::int64_t{holder.who.pid}},
                         {"user", holder.who.user},
                         {"fence", static_cast<std::int64_t>(holder.fence)}};
  if (auto since = base::rfc3339(holder.since_us)) fields.emplace_back("since", std::move(*since));
  if (!holder.who.label.empty()) fields.emplace_back("label", holder.who.label);
  if (!holder.who.command.empty()) fields.emplace_back("command", holder.who.command);
  return fields;
}

std::string held_text(const lock::Busy& busy, const std::string& server) {
  if (busy.young_for) {
    return "which is kept for its earlier holders for " +
           base::age_text(std::chrono::ceil<std::chrono::seconds>(*busy.young_for)) + " more: " + server +
           " restarted a moment ago";
  }
  if (busy.is_other_data) return "whose key on the server is other data, not a lock";
  if (busy.is_for_libraries) return "which nobody has at this moment: other programs may take it first";
  if (!busy.holder) return "held by a program other than rlock";
  const bool is_for_several = busy.holder->mode.is_for_several();
  return std::string("held by ") + (is_for_several ? "several, one of them " : "") + holder_text(*busy.holder) +
         (busy.holder->has_ended ? ", whose command has ended (--hold)" : "");
}

base::LogFields busy_fields(const std::string& key, const lock::Busy& busy) {
  base::LogFields fields{{"key", key}};
  if (busy.rank >= 0) fields.emplace_back("ahead", busy.rank);
  // The name is public (rlock.1): the lock is kept for its earlier holders.
  if (busy.young_for) fields.emplace_back("kept_ms", std::int64_t{busy.young_for->count()});
  if (busy.holder) fields.emplace_back("holder", holder_fields(*busy.holder));
  return fields;
}

void report_acquired(const std::string& key, std::uint64_t fence, std::chrono::nanoseconds waited, base::Duration ttl) {
  base::log_without_blocking();  // the lease is running
  base::log_info("holding " + key + ", fence " + std::to_string(fence) +
                     (waited >= std::chrono::seconds(1) ? ", after waiting " + base::age_text(waited) : ""),
                 {"acquired",
                  {{"key", key},
                   {"fence", static_cast<std::int64_t>(fence)},
                   {"waited_ms", ms_of(waited)},
                   {"ttl_ms", std::int64_t{ttl.count()}}}});
}

Lost Lost::after(const std::string& key, std::uint64_t fence, std::chrono::nanoseconds held, const std::string& why,
                 const std::string& then) {
  return {"lost " + key + " after " + base::age_text(held) + ": " + why + "; " + then,
          {"lost", {{"key", key}, {"fence", static_cast<std::int64_t>(fence)}, {"held_ms", ms_of(held)}}}};
}

Lost Lost::while_waiting(const std::string& key, int exit_status) {
  return {"lost " + key + " while waiting for others; the command was not started", lost_event(key, exit_status)};
}

Lost Lost::to_nobody(const std::string& key, int exit_status) {
  return {"lost: " + key + " is not held by anybody: it was released, or its lease had ended",
          lost_event(key, exit_status)};
}

Lost Lost::to_other(const std::string& key, int exit_status, const lock::Record* holder) {
  Lost lost{"lost: " + key + " is held by somebody else", lost_event(key, exit_status)};
  if (holder != nullptr) {
    lost.message += ": " + holder_text(*holder);
    lost.event.fields.emplace_back("holder", holder_fields(*holder));
  }
  return lost;
}

void Lost::report() const { base::log_error(message, event); }

std::string Lost::for_syslog() const {
  report();
  return base::log_line(base::LogLevel::error, message, event);
}

void report_taken(const std::string& key, const lock::Inspection& lock) {
  if (!lock.is_held()) return;
  const auto* record = lock.holders.empty() || !lock.holders.front().record ? nullptr : &*lock.holders.front().record;
  std::string message = key + " is now held by " +
                        (record != nullptr    ? holder_text(*record)
                         : lock.is_other_data ? "other data, which is not a lock"
                                              : "a program other than rlock");
  if (lock.holders.size() > 1) message += " and " + std::to_string(lock.holders.size() - 1) + " more";
  base::LogFields fields{{"key", key}};
  if (record != nullptr) fields.emplace_back("holder", holder_fields(*record));
  base::log_note(message, {"taken", std::move(fields)});
}

void report_released(const std::string& key, std::uint64_t fence, std::chrono::nanoseconds held,
                     const lock::LastRun* run) {
  base::LogEvent event{"released",
                       {{"key", key}, {"fence", static_cast<std::int64_t>(fence)}, {"held_ms", ms_of(held)}}};
  if (run != nullptr) std::ranges::move(ending_fields(*run), std::back_inserter(event.fields));
  base::log_info("released " + key + " after " + base::age_text(held) + (run ? ": " + ending_text(*run) : ""), event);
}

std::string ending_text(const lock::LastRun& run) {
  if (run.signal != 0) return "signal " + std::to_string(run.signal);
  return "exit " + std::to_string(run.exit_status) + (run.exit_status == base::exit_timed_out ? " (timed out)" : "");
}

base::LogFields ending_fields(const lock::LastRun& run) {
  base::LogFields fields{{"exit_status", std::int64_t{run.exit_status}}};
  if (run.signal != 0) fields.emplace_back("signal", std::int64_t{run.signal});
  return fields;
}

std::int64_t ms_of(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

}  // namespace rlock::show
