#pragma once

#include "cli/option_table.hpp"

namespace rlock::cli::rows {

/// Waiting for the lock, and giving up.
inline constexpr OptionRow waiting[]{
    {.name = "wait",
     .letter = 'w',
     .kind = Kind::duration,
     .value = "D",
     .verbs = acquirers,
     .group = Group::waiting,
     .target = &commands::Options::wait,
     .help = "Give up after D; without it, wait for ever",
     .is_brief = true,
     .more = "Whatever the server does, rlock ends at most half a second later, with 69 if the server has not answered "
             "by then.",
     .environment = "RLOCK_WAIT",
     .excludes = "nonblock",
     .also = "timeout"},
    {.name = "nonblock",
     .letter = 'n',
     .verbs = acquirers,
     .group = Group::waiting,
     .target = &commands::Options::nonblock,
     .help = "Give up at once",
     .is_brief = true,
     .more = "The server has half a second to answer, or --connect-timeout if that is set.",
     .excludes = "wait",
     .also = "nb no-wait nowait try"},
    {.name = "conflict-exit-code",
     .letter = 'E',
     .kind = Kind::number,
     .value = "N",
     .verbs = acquirers,
     .group = Group::waiting,
     .target = &commands::Options::conflict_exit_code,
     .help = "Exit status when busy, 0 to 255; with 0 nothing is printed",
     .is_brief = true,
     .default_text = "75",
     .max = 255},
    {.name = "grace",
     .kind = Kind::duration,
     .value = "D",
     .verbs = acquirers | release,
     .group = Group::waiting,
     .target = &commands::Options::grace,
     .help = "For D after a start of the server, keep a free lock for its earlier holder",
     .more = "The server may have forgotten the holder if it was restarted or a replica was promoted. Give the largest "
             "ttl in use, best in /etc/rlock.conf. Without this option nothing is kept.",
     .environment = "RLOCK_GRACE"},
};

}  // namespace rlock::cli::rows
