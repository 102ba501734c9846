#pragma once

#include "cli/option_table.hpp"
#include "commands/verbs.hpp"

namespace rlock::cli::rows {

inline constexpr VerbRow verbs[]{
    {run,
     "run",
     "KEY [--] COMMAND [ARG...]",
     Words::key_command,
     "Hold KEY while COMMAND runs",
     commands::run,
     {{{"rlock run nightly-backup -- ./backup.sh", "Wait for the lock as long as it takes, then run."},
       {"rlock run -n -E 0 report -- ./report.sh", "Skip this run when another one is going on, and exit 0."},
       {"rlock run -w 5m -t 1m deploy -- ./deploy.sh", "Wait five minutes at most; renew a lease of one minute."},
       {"rlock run --with database deploy -- ./deploy.sh", "Hold two locks, all or none."},
       {"rlock run -n -E 0 --hold 1m nightly -- ./nightly.sh",
        "In the crontab of several hosts: one runs it, though clocks differ."},
       {"rlock run --once 20h report -- ./report.sh", "Do nothing if a run has succeeded within the last 20 hours."}}}},
    {acquire,
     "acquire",
     "KEY",
     Words::key,
     "Acquire KEY, print its token",
     commands::acquire,
     {{{"eval \"$(rlock acquire --export deploy)\" && ./deploy.sh && rlock release",
        "A script that is more than one command."},
       {"eval \"$(rlock acquire --export --while-pid $$ deploy)\" && ./deploy.sh",
        "The same, renewed while the script lives and released when it ends."}}}},
    {renew,
     "renew",
     "[KEY [TOKEN]]",
     Words::key_token,
     "Extend the lease",
     commands::renew,
     {{{"rlock renew -t 10m", "In a script that holds: KEY and TOKEN come from the environment."}}}},
    {release,
     "release",
     "[KEY [TOKEN]]",
     Words::key_token,
     "Release KEY",
     commands::release,
     {{{"rlock release deploy \"$RLOCK_TOKEN\"", "Release what acquire got."},
       {"printenv RLOCK_TOKEN | rlock release deploy -", "The same; no list of processes shows the token."},
       {"rlock release --force deploy", "Release it, whoever holds it."}}}},
    {status,
     "status",
     "[KEY]",
     Words::optional_key,
     "Who holds, who waits, what ran last",
     commands::status,
     {{{"rlock status", "All locks: who holds, who waits, since when."},
       {"rlock status --json deploy | jq -r '.holders[].host'", "The same for programs."},
       {"if rlock status --exit-code -q deploy; then echo busy; fi", "Is it held?"}}}},
};

}  // namespace rlock::cli::rows
