#pragma once

#include "base/number.hpp"
#include "cli/option_table.hpp"
#include "lock/lease.hpp"

namespace rlock::cli::rows {

inline constexpr int max_slots = 10'000;

inline Complaint set_with(commands::Options& options, std::string_view text) {
  options.with.emplace_back(text);
  return std::nullopt;
}

template <lock::Mode::Kind kind>
Complaint set_mode(commands::Options& options, std::string_view text) {
  if (text == "true") options.mode = {.kind = kind};
  return std::nullopt;
}

inline Complaint set_slots(commands::Options& options, std::string_view text) {
  const auto slots = base::parse_number<int>(text);
  if (!slots || *slots < 1 || *slots > max_slots || text != std::to_string(*slots)) {
    return quoted(text) + " is not a number from 1 to " + std::to_string(max_slots);
  }
  options.mode = {.kind = lock::Mode::Kind::slots, .slots = *slots};
  return std::nullopt;
}

/// The lock itself: which, how, and for how long.
inline constexpr OptionRow lock[]{
    {.name = "ttl",
     .letter = 't',
     .kind = Kind::duration,
     .value = "D",
     .verbs = acquirers | renew,
     .group = Group::lock,
     .target = &commands::Options::ttl,
     .help = "How long the lease lasts unless renewed; at least 100ms",
     .default_text = "30s",
     .environment = "RLOCK_TTL",
     .min = lock::min_ttl.count()},
    {.name = "shared",
     .letter = 's',
     .verbs = acquirers,
     .group = Group::lock,
     .target = set_mode<lock::Mode::Kind::shared>,
     .help = "Hold the lock together with others that say --shared, as readers do; a reader that comes after a waiting "
             "--exclusive waits behind it",
     .sources = Sources::command_line,
     .excludes = "exclusive slots"},
    {.name = "exclusive",
     .letter = 'x',
     .verbs = acquirers,
     .group = Group::lock,
     .target = set_mode<lock::Mode::Kind::exclusive>,
     .help = "Hold the lock alone, as a writer does; the default",
     .sources = Sources::command_line,
     .excludes = "shared slots"},
    {.name = "slots",
     .kind = Kind::number,
     .value = "N",
     .verbs = acquirers,
     .group = Group::lock,
     .target = set_slots,
     .help = "At most N hold the lock at once; all who use KEY must give the same N, else exit 78",
     .sources = Sources::command_line,
     .excludes = "exclusive shared"},
    {.name = "force",
     .verbs = release,
     .group = Group::lock,
     .target = &commands::Options::force,
     .help = "Release it, whoever holds it, and say who that was",
     .sources = Sources::command_line},
    {.name = "with",
     .kind = Kind::text,
     .value = "KEY",
     .verbs = run,
     .group = Group::lock,
     .target = set_with,
     .help = "Hold this key too, all or none; may be given several times; all clients acquire keys in one order, so "
             "that two runs cannot block each other; if one key is lost, all are",
     .sources = Sources::command_line,
     .repeatable = true},
    {.name = "hold",
     .kind = Kind::duration,
     .value = "D",
     .verbs = run,
     .group = Group::lock,
     .target = &commands::Options::hold,
     .help = "Keep the lock for at least D from when it was acquired, even if COMMAND ends sooner; no process stays "
             "for that; for a cron job on several hosts whose clocks differ by less than D",
     .min = 1},
    {.name = "once",
     .kind = Kind::duration,
     .value = "D",
     .verbs = run,
     .group = Group::lock,
     .target = &commands::Options::once,
     .help = "Exit 0 without running COMMAND if a run of KEY has succeeded within the last D",
     .min = 1},
    {.name = "replicas",
     .kind = Kind::number,
     .value = "N",
     .verbs = acquirers,
     .group = Group::lock,
     .target = &commands::Options::replicas,
     .help = "Count the lock as acquired or renewed only when N replicas of the server have it, so that a failover "
             "to one of them keeps it; without it, none",
     .max = 100},
    {.name = "while-pid",
     .kind = Kind::number,
     .value = "PID",
     .verbs = acquire,
     .group = Group::lock,
     .target = &commands::Options::while_pid,
     .help = "Renew in the background while process PID lives, and release when it has ended, however it ends; if the "
             "lock is lost, stop PID and what it has started since; in a script write $$",
     .sources = Sources::command_line,
     .min = 1,
     .max = 4'194'304},
};

}  // namespace rlock::cli::rows
