#pragma once

#include "base/signal_names.hpp"
#include "cli/option_table.hpp"

namespace rlock::cli::rows {

inline Complaint set_signal(commands::Options& options, std::string_view text) {
  if (const auto number = base::signal_named(text)) {
    options.stop_signal = *number;
    return std::nullopt;
  }
  return in_quotes(text) + " is not a signal; write TERM, INT, 15 or the like";
}

inline Complaint set_on_lost(commands::Options& options, std::string_view text) {
  options.on_lost = text == "warn" ? commands::OnLost::warn : commands::OnLost::kill;
  return std::nullopt;
}

/// The command of `run`, and the process of `acquire --while-pid`.
inline constexpr OptionRow command[]{
    {.name = "timeout",
     .kind = Kind::duration,
     .value = "D",
     .verbs = run,
     .group = Group::command,
     .target = &commands::Options::timeout,
     .help = "Stop COMMAND when it has run for D, and exit 124; 0 is no limit",
     .is_brief = true,
     .more = "D counts from the start of COMMAND. COMMAND and all that it started get --signal, and SIGKILL after "
             "--kill-after; then the lock is released. The wait for the lock does not count: --wait limits that."},
    {.name = "signal",
     .kind = Kind::text,
     .value = "SIG",
     .verbs = acquirers,
     .group = Group::command,
     .target = set_signal,
     .help = "Signal that ends what runs under the lock, when the lock is lost or at --timeout",
     .more = "In acquire it goes with --while-pid.",
     .default_text = "TERM",
     .needs = "while-pid"},
    {.name = "kill-after",
     .letter = 'k',
     .kind = Kind::duration,
     .value = "D",
     .verbs = acquirers,
     .group = Group::command,
     .target = &commands::Options::kill_after,
     .help = "Time between --signal and SIGKILL; without it 5s, at most a third of the ttl",
     .more = "In acquire it goes with --while-pid.",
     .needs = "while-pid"},
    {.name = "on-lost",
     .kind = Kind::choice,
     .value = "kill|warn",
     .verbs = acquirers,
     .group = Group::command,
     .target = set_on_lost,
     .help = "When the lock is lost, end what runs under it, or only warn",
     .more = "In acquire it goes with --while-pid.",
     .default_text = "kill",
     .needs = "while-pid"},
    {.name = "no-renew",
     .verbs = run,
     .group = Group::command,
     .target = &commands::Options::no_renew,
     .help = "Do not renew: COMMAND is stopped in time to be dead before the lease ends",
     .more = "COMMAND is asked to end after the time that WHEN A SERVER IS DOWN shows as \"at best\": the ttl less 1 % "
             "and 50 ms for clocks, less a tenth of the ttl (1 s at most) for killing, less --kill-after."},
    {.name = "tree",
     .verbs = run,
     .group = Group::command,
     .target = &commands::Options::tree,
     .help = "Hold KEY until all that COMMAND started has ended"},
    {.name = "show-command",
     .verbs = run,
     .group = Group::command,
     .target = &commands::Options::show_command,
     .help = "Let status show the command line, which may carry secrets",
     .environment = "RLOCK_SHOW_COMMAND"},
    {.name = "label",
     .kind = Kind::text,
     .value = "TEXT",
     .verbs = acquirers,
     .group = Group::command,
     .target = &commands::Options::label,
     .help = "Text that status and waiters show for this holder: the URL of a CI job, say",
     .is_brief = true,
     .more = "A longer text than 256 bytes is cut.",
     .environment = "RLOCK_LABEL"},
};

}  // namespace rlock::cli::rows
