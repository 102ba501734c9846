#pragma once

#include "cli/option_table.hpp"
#include "show/log_json.hpp"

namespace rlock::cli::rows {

template <commands::Format format>
Complaint set_format(commands::Options& options, std::string_view text) {
  if (text == "true") options.format = format;
  return std::nullopt;
}

inline Complaint set_named_format(commands::Options& options, std::string_view text) {
  using commands::Format;
  options.format = text == "json"         ? Format::json
                   : text == "keys"       ? Format::keys
                   : text == "prometheus" ? Format::prometheus
                                          : Format::usual;
  return std::nullopt;
}

inline Complaint set_order(commands::Options& options, std::string_view text) {
  using show::Order;
  options.order = text == "state"      ? Order::state
                  : text == "held"     ? Order::held
                  : text == "waiting"  ? Order::waiting
                  : text == "last-run" ? Order::last_run
                                       : Order::key;
  return std::nullopt;
}

// At once: whatever is wrong with the rest is told in this format.
inline Complaint set_log_format(commands::Options& options, std::string_view text) {
  options.log_format = text == "json" ? show::LogFormat::json : show::LogFormat::text;
  show::set_log_format(options.log_format);
  return std::nullopt;
}

/// What rlock prints.
inline constexpr OptionRow output[]{
    {.name = "json",
     .verbs = acquire | status,
     .target = set_format<commands::Format::json>,
     .help = "Print JSON",
     .is_brief = true,
     .excludes = "export format watch"},
    {.name = "format",
     .kind = Kind::choice,
     .value = "table|json|prometheus|keys",
     .verbs = status,
     .target = set_named_format,
     .help = "A table, JSON, metrics, or one key a line",
     .is_brief = true,
     .more =
         "prometheus is for the textfile collector of node_exporter. If no server answers, it prints only rlock_up 0, "
         "and the exit status is the usual one; rlock_unseen_servers counts masters of a Cluster that did not answer. "
         "json is the same as --json. keys prints names for other verbs of rlock: it leaves out a name that cannot be "
         "a KEY, or that has characters which a terminal does not show.",
     .excludes = "json watch"},
    {.name = "held",
     .verbs = status,
     .target = &commands::Options::only_in_use,
     .help = "List only locks that are held or waited for",
     .is_brief = true,
     .sources = Sources::command_line},
    {.name = "sort",
     .kind = Kind::choice,
     .value = "state|key|held|waiting|last-run",
     .verbs = status,
     .target = set_order,
     .help = "Order of the list",
     .is_brief = true,
     .more = "state, the default of a table: waited for first, then held, then the rest; key, the default of JSON and "
             "keys: by name; held: held for longest first; waiting: most waiters first; last-run: ended last first. "
             "Locks that are equal in this are sorted by name.",
     .sources = Sources::command_line},
    {.name = "watch",
     .verbs = status,
     .target = &commands::Options::watch,
     .help = "Show it live until q or Ctrl-C",
     .is_brief = true,
     .more = "Arrows, j and k, PageUp and PageDown, g and G scroll what does not fit. It looks every second, or less "
             "often where a look at many locks takes long; an outage of the server is shown and "
             "waited out. Exits 0 after q or Ctrl-C.",
     .sources = Sources::command_line,
     .excludes = "json format exit-code quiet"},
    {.name = "export",
     .verbs = acquire,
     .target = set_format<commands::Format::shell>,
     .help = "Print RLOCK_KEY, RLOCK_TOKEN, RLOCK_FENCE for eval",
     .is_brief = true,
     .more =
         "If acquire fails, it prints (exit N) instead, so that the eval fails too. If --prefix or --compat is set, on "
         "the command line, in the environment or in a file, RLOCK_PREFIX and RLOCK_COMPAT are exported too, so that "
         "a later rlock release finds the lock without options.",
     .excludes = "json"},
    {.name = "log-format",
     .kind = Kind::choice,
     .value = "text|json",
     .target = set_log_format,
     .help = "Write messages as lines of text, or as one JSON object for each event",
     .more = "With json it also logs when it waits, acquires and releases; see LOGS in rlock(1).",
     .default_text = "text",
     .environment = "RLOCK_LOG_FORMAT"},
    {.name = "syslog",
     .target = &commands::Options::syslog,
     .help = "Also log to syslog or the journal",
     .more = "It also logs when it waits, acquires and releases; see LOGS in rlock(1)."},
    {.name = "exit-code",
     .verbs = status,
     .target = &commands::Options::exit_code,
     .help = "Exit 0 when held, 1 when free",
     .is_brief = true,
     .more = "With a list: 0 when any lock in it is held.",
     .excludes = "watch"},
    {.name = "quiet",
     .letter = 'q',
     .target = &commands::Options::quiet,
     .help = "Print only errors",
     .is_brief = true,
     .excludes = "verbose watch"},
    {.name = "verbose",
     .letter = 'v',
     .target = &commands::Options::verbose,
     .help = "Print what happens",
     .is_brief = true,
     .excludes = "quiet"},
};

}  // namespace rlock::cli::rows
