#pragma once

#include "base/text/number.hpp"
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
    return in_quotes(text) + " is not a number from 1 to " + std::to_string(max_slots);
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
     .is_brief = true,
     .default_text = "30s",
     .environment = "RLOCK_TTL",
     .also = "lease expire",
     .min = lock::min_ttl.count()},
    {.name = "shared",
     .letter = 's',
     .verbs = acquirers,
     .group = Group::lock,
     .target = set_mode<lock::Mode::Kind::shared>,
     .help = "Hold KEY with others that say --shared, as readers",
     .is_brief = true,
     .more = "A reader that comes after a waiting writer waits behind it.",
     .sources = Sources::command_line,
     .excludes = "exclusive slots",
     .also = "read"},
    {.name = "exclusive",
     .letter = 'x',
     .verbs = acquirers,
     .group = Group::lock,
     .target = set_mode<lock::Mode::Kind::exclusive>,
     .help = "Hold KEY alone, as a writer does; the default",
     .sources = Sources::command_line,
     .excludes = "shared slots",
     .also = "write e"},
    {.name = "slots",
     .kind = Kind::number,
     .value = "N",
     .verbs = acquirers,
     .group = Group::lock,
     .target = set_slots,
     .help = "At most N hold KEY at once; all must give the same N",
     .is_brief = true,
     .more = "With another N, rlock exits with 78.",
     .sources = Sources::command_line,
     .excludes = "exclusive shared",
     .also = "n count limit"},
    {.name = "force",
     .verbs = release,
     .group = Group::lock,
     .target = &commands::Options::force,
     .help = "Release KEY whoever holds it, and say who that was",
     .is_brief = true,
     .sources = Sources::command_line},
    {.name = "with",
     .kind = Kind::text,
     .value = "KEY",
     .verbs = run,
     .group = Group::lock,
     .target = set_with,
     .help = "Hold this key too, all or none; may be repeated",
     .is_brief = true,
     .more = "All clients acquire keys in one order, so that two runs cannot block each other. If one key is lost, all "
             "are.",
     .sources = Sources::command_line,
     .repeatable = true},
    {.name = "hold",
     .kind = Kind::duration,
     .value = "D",
     .verbs = run,
     .group = Group::lock,
     .target = &commands::Options::hold,
     .help = "Keep KEY for at least D, even if COMMAND ends sooner: for a cron job on several hosts",
     .is_brief = true,
     .more =
         "D counts from when KEY was acquired, and has to be longer than the difference between the hosts' clocks. No "
         "process stays behind for it.",
     .min = 1},
    {.name = "once",
     .kind = Kind::duration,
     .value = "D",
     .verbs = run,
     .group = Group::lock,
     .target = &commands::Options::once,
     .help = "Do nothing and exit 0 if a run succeeded within D",
     .is_brief = true,
     .min = 1},
    {.name = "remember",
     .kind = Kind::duration,
     .value = "D",
     .verbs = run,
     .group = Group::lock,
     .target = &commands::Options::remember,
     .help = "How long the server remembers this run for status and --once",
     .more =
         "The fence is remembered for as long. A longer --once of any run of KEY counts in place of D, and 0 leaves "
         "nothing. Each name takes 330 bytes on the server: 1,000 new names a day take 3 MB, but 100 new names a "
         "second would take 23 GB, or 30 MB with --remember 15m.",
     .default_text = "8d",
     .environment = "RLOCK_REMEMBER"},
    {.name = "replicas",
     .kind = Kind::number,
     .value = "N",
     .verbs = acquirers,
     .group = Group::lock,
     .target = &commands::Options::replicas,
     .help = "Hold KEY only when N replicas of the server have it, so that a failover keeps it",
     .more = "The lock counts as acquired, and as renewed, only then. Without this option no replica is asked.",
     .max = 100},
    {.name = "while-pid",
     .kind = Kind::number,
     .value = "PID",
     .verbs = acquire,
     .group = Group::lock,
     .target = &commands::Options::while_pid,
     .help = "Renew in the background while process PID lives, then release; in a script write $$",
     .is_brief = true,
     .more = "KEY is released however PID ends. If the lock is lost, PID and what it has started since are stopped.",
     .sources = Sources::command_line,
     .min = 1,
     .max = 4'194'304},
};

}  // namespace rlock::cli::rows
