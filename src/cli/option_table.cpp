#include "cli/option_table.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <numeric>

#include "base/duration.hpp"
#include "base/number.hpp"
#include "commands/verbs.hpp"
#include "lock/lease.hpp"
#include "redis/address.hpp"
#include "redis/url.hpp"

namespace rlock::cli {

using base::Duration;
using commands::Compat;
using commands::Format;
using commands::OnLost;
using commands::Options;

namespace {

constexpr int max_slots = 10'000;

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

Complaint set_server(Options& options, std::string_view text) {
  const auto urls = redis::split_list(text);
  for (std::size_t i = 0; i < urls.size(); ++i) {
    // The URL is not repeated: there may be a password in it.
    if (const auto address = redis::Address::parse(urls[i]); !address) {
      return (urls.size() == 1 ? "the URL "
                               : "URL " + std::to_string(i + 1) + " of " + std::to_string(urls.size()) + " ") +
             address.error().message;
    }
    options.servers.emplace_back(urls[i]);
  }
  return std::nullopt;
}

Complaint set_with(Options& options, std::string_view text) {
  options.with.emplace_back(text);
  return std::nullopt;
}

Complaint set_signal(Options& options, std::string_view text) {
  const auto name = text.starts_with("SIG") ? text.substr(3) : text;
  for (int number = 1; number < NSIG; ++number) {
    const char* abbreviation = ::sigabbrev_np(number);
    if (name == std::to_string(number) || (abbreviation != nullptr && name == abbreviation)) {
      options.stop_signal = number;
      return std::nullopt;
    }
  }
  return quoted(text) + " is not a signal; write TERM, INT, 15 or the like";
}

Complaint set_on_lost(Options& options, std::string_view text) {
  options.on_lost = text == "warn" ? OnLost::warn : OnLost::kill;
  return std::nullopt;
}

Complaint set_compat(Options& options, std::string_view text) {
  options.compat = text == "redisson" ? Compat::redisson : Compat::none;
  return std::nullopt;
}

template <lock::Mode::Kind kind>
Complaint set_mode(Options& options, std::string_view text) {
  if (text == "true") options.mode = {.kind = kind};
  return std::nullopt;
}

Complaint set_slots(Options& options, std::string_view text) {
  const auto slots = base::parse_number<int>(text);
  if (!slots || *slots < 1 || *slots > max_slots || text != std::to_string(*slots)) {
    return quoted(text) + " is not a number from 1 to " + std::to_string(max_slots);
  }
  options.mode = {.kind = lock::Mode::Kind::slots, .slots = *slots};
  return std::nullopt;
}

template <Format format>
Complaint set_format(Options& options, std::string_view text) {
  if (text == "true") options.format = format;
  return std::nullopt;
}

constexpr VerbRow verbs[]{
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

static_assert(std::accumulate(std::begin(verbs), std::end(verbs), 0U,
                              [](unsigned bits, const VerbRow& row) { return bits | row.bit; }) == every_verb);

constexpr unsigned acquirers = run | acquire;

constexpr OptionRow options[]{
    {.name = "ttl",
     .letter = 't',
     .kind = Kind::duration,
     .value = "D",
     .verbs = acquirers | renew,
     .group = Group::lock,
     .target = &Options::ttl,
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
     .target = &Options::force,
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
    {.name = "wait",
     .letter = 'w',
     .kind = Kind::duration,
     .value = "D",
     .verbs = acquirers,
     .group = Group::waiting,
     .target = &Options::wait,
     .help = "Give up after D; without it, wait for ever",
     .environment = "RLOCK_WAIT",
     .excludes = "nonblock"},
    {.name = "nonblock",
     .letter = 'n',
     .verbs = acquirers,
     .group = Group::waiting,
     .target = &Options::nonblock,
     .help = "Give up at once",
     .excludes = "wait"},
    {.name = "conflict-exit-code",
     .letter = 'E',
     .kind = Kind::number,
     .value = "N",
     .verbs = acquirers,
     .group = Group::waiting,
     .target = &Options::conflict_exit_code,
     .help = "Exit status for busy, 0 to 255; 0 is silent",
     .default_text = "75",
     .max = 255},
    {.name = "hold",
     .kind = Kind::duration,
     .value = "D",
     .verbs = run,
     .group = Group::lock,
     .target = &Options::hold,
     .help = "Keep the lock for at least D from when it was acquired, even if COMMAND ends sooner; no process stays "
             "for that; for a cron job on several hosts whose clocks differ by less than D",
     .min = 1},
    {.name = "once",
     .kind = Kind::duration,
     .value = "D",
     .verbs = run,
     .group = Group::lock,
     .target = &Options::once,
     .help = "Exit 0 without running COMMAND if a run of KEY has succeeded within the last D",
     .min = 1},
    {.name = "grace",
     .kind = Kind::duration,
     .value = "D",
     .verbs = acquirers | release,
     .group = Group::waiting,
     .target = &Options::grace,
     .help = "For D after the server started or was promoted, keep a free lock for its earlier holder, whom the "
             "server may have forgotten; give the largest ttl in use, best in /etc/rlock.conf; without it, do not",
     .environment = "RLOCK_GRACE"},
    {.name = "replicas",
     .kind = Kind::number,
     .value = "N",
     .verbs = acquirers,
     .group = Group::lock,
     .target = &Options::replicas,
     .help = "Count the lock as acquired or renewed only when N replicas of the server have it, so that a failover "
             "to one of them keeps it; without it, none",
     .max = 100},
    {.name = "while-pid",
     .kind = Kind::number,
     .value = "PID",
     .verbs = acquire,
     .group = Group::lock,
     .target = &Options::while_pid,
     .help = "Renew in the background while process PID lives, and release when it has ended, however it ends; if the "
             "lock is lost, stop PID and what it has started since; in a script write $$",
     .sources = Sources::command_line,
     .min = 1,
     .max = 4'194'304},
    {.name = "signal",
     .kind = Kind::text,
     .value = "SIG",
     .verbs = acquirers,
     .group = Group::command,
     .target = set_signal,
     .help = "The signal that asks COMMAND, or PID, to end when the lock is lost",
     .default_text = "TERM"},
    {.name = "kill-after",
     .letter = 'k',
     .kind = Kind::duration,
     .value = "D",
     .verbs = acquirers,
     .group = Group::command,
     .target = &Options::kill_after,
     .help = "How long it then has before SIGKILL; without it 5s, at most a third of the ttl"},
    {.name = "on-lost",
     .kind = Kind::choice,
     .value = "kill|warn",
     .verbs = acquirers,
     .group = Group::command,
     .target = set_on_lost,
     .help = "Whether a lost lock ends COMMAND, or PID",
     .default_text = "kill"},
    {.name = "no-renew",
     .verbs = run,
     .group = Group::command,
     .target = &Options::no_renew,
     .help = "A fixed lease: COMMAND is stopped when it ends"},
    {.name = "tree",
     .verbs = run,
     .group = Group::command,
     .target = &Options::tree,
     .help = "Hold the lock until all that COMMAND started has ended"},
    {.name = "show-command",
     .verbs = run,
     .group = Group::command,
     .target = &Options::show_command,
     .help = "Let status show the command line, which may carry secrets",
     .environment = "RLOCK_SHOW_COMMAND"},
    {.name = "server",
     .kind = Kind::text,
     .value = "URL",
     .group = Group::server,
     .target = set_server,
     .help =
         "What keeps the lock: redis://[[user:]password@]host[:port][/db], unix:///path[?db=N], "
         "redis+sentinel://host[:port],.../master[/db], redis+cluster://host[:port],..., or local, a private server "
         "of this machine; rediss in place of redis is TLS, with [?cacert=FILE&cert=FILE&key=FILE]; 3 to 7 URLs, "
         "with commas between them or an option each, are independent servers of which a majority holds the lock "
         "(Redlock); without it redis://127.0.0.1:6379",
     .environment = "RLOCK_SERVER",
     .repeatable = true},
    {.name = "prefix",
     .kind = Kind::text,
     .value = "P",
     .group = Group::server,
     .target = &Options::prefix,
     .help = "Put before KEY on the server; with '' the key is that of other libraries",
     .default_text = "rlock:",
     .environment = "RLOCK_PREFIX"},
    {.name = "compat",
     .kind = Kind::choice,
     .value = "none|redisson",
     .group = Group::server,
     .target = set_compat,
     .help = "With redisson, KEY is an RLock of Redisson: rlock and services that lock it exclude and wake each other; "
             "see LOCKS OF OTHER LIBRARIES in rlock(1)",
     .default_text = "none",
     .environment = "RLOCK_COMPAT"},
    {.name = "password-file",
     .kind = Kind::file,
     .value = "FILE",
     .group = Group::server,
     .target = &Options::password_file,
     .help = "The password is the first line of FILE",
     .environment = "RLOCK_PASSWORD_FILE"},
    {.name = "connect-timeout",
     .kind = Kind::duration,
     .value = "D",
     .group = Group::server,
     .target = &Options::connect_timeout,
     .help = "How long to wait for a server that does not answer or is down",
     .default_text = "5s",
     .min = 1},
    {.name = "config",
     .kind = Kind::file,
     .value = "FILE",
     .group = Group::server,
     .target = &Options::config_file,
     .help = "Read options from FILE; without it from /etc/rlock.conf and, over it, $XDG_CONFIG_HOME/rlock.conf",
     .environment = "RLOCK_CONFIG",
     .sources = Sources::command_line},
    {.name = "json",
     .verbs = acquire | status,
     .target = set_format<Format::json>,
     .help = "Print JSON",
     .excludes = "export"},
    {.name = "export",
     .verbs = acquire,
     .target = set_format<Format::shell>,
     .help = "Print RLOCK_KEY, RLOCK_TOKEN and RLOCK_FENCE as an export line for eval; (exit N) where it fails",
     .excludes = "json"},
    {.name = "exit-code", .verbs = status, .target = &Options::exit_code, .help = "Exit 0 when held, 1 when free"},
    {.name = "quiet",
     .letter = 'q',
     .target = &Options::quiet,
     .help = "Say nothing but errors",
     .excludes = "verbose"},
    {.name = "verbose", .letter = 'v', .target = &Options::verbose, .help = "Say what happens", .excludes = "quiet"},
};

// As CLI11's own files have them.
std::optional<bool> parse_flag(std::string_view text) {
  for (const std::string_view yes : {"true", "on", "yes", "1"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"false", "off", "no", "0"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

struct Assignment {
  const OptionRow& row;
  Options& options;
  std::string_view text;

  Complaint operator()(std::monostate) const { return std::nullopt; }
  Complaint operator()(bool Options::* field) const {
    options.*field = parse_flag(text) == true;
    return std::nullopt;
  }
  Complaint operator()(std::string Options::* field) const {
    options.*field = text;
    return std::nullopt;
  }
  Complaint operator()(int Options::* field) const {
    const auto number = base::parse_number<int>(text);
    if (!number || *number < row.min || *number > row.max || text != std::to_string(*number)) {
      return quoted(text) + " is not a number from " + std::to_string(row.min) + " to " + std::to_string(row.max);
    }
    options.*field = *number;
    return std::nullopt;
  }
  Complaint operator()(Duration Options::* field) const { return set_duration(options.*field); }
  Complaint operator()(std::optional<Duration> Options::* field) const { return set_duration(options.*field); }
  Complaint operator()(OptionRow::Setter set) const { return set(options, text); }

  template <class Field>
  Complaint set_duration(Field& field) const {
    const auto duration = base::parse_duration(text);
    if (!duration) return quoted(text) + " is not a duration; write 500ms, 30s, 5m or 1h30m";
    if (duration->count() < row.min) {
      return quoted(text) + " is too short; at least " + base::format_duration(Duration(row.min));
    }
    field = *duration;
    return std::nullopt;
  }
};

bool is_choice(std::string_view choices, std::string_view text) {
  return !text.empty() && text.find('|') == std::string_view::npos &&
         ("|" + std::string(choices) + "|").find("|" + std::string(text) + "|") != std::string::npos;
}

}  // namespace

std::span<const VerbRow> verb_table() { return verbs; }
std::span<const OptionRow> option_table() { return options; }

const VerbRow* find_verb(std::string_view name) {
  const auto* row = std::ranges::find(verbs, name, &VerbRow::name);
  return row == std::end(verbs) ? nullptr : row;
}

const OptionRow* find_option(std::string_view long_name) {
  const auto* row = std::ranges::find(options, long_name, &OptionRow::name);
  return row == std::end(options) ? nullptr : row;
}

bool excludes(const OptionRow& row, std::string_view other) {
  return (" " + std::string(row.excludes) + " ").contains(" " + std::string(other) + " ");
}

std::string_view group_title(Group group) {
  switch (group) {
    case Group::lock:
      return "The lock";
    case Group::waiting:
      return "Waiting";
    case Group::command:
      return "The command";
    case Group::server:
      return "The server";
    case Group::output:
      break;
  }
  return "Output";
}

bool is_off(const OptionRow& row, std::string_view text) { return row.kind == Kind::flag && parse_flag(text) == false; }

Complaint set_value(const OptionRow& row, Options& to, std::string_view text) {
  if (row.kind == Kind::flag) {
    const auto flag = parse_flag(text);
    if (!flag) return quoted(text) + " is not true or false";
    text = *flag ? "true" : "false";
  }
  if (row.kind == Kind::choice && !is_choice(row.value, text)) {
    std::string choices(row.value);
    return quoted(text) + " is not one of " + choices;
  }
  return std::visit(Assignment{row, to, text}, row.target);
}

}  // namespace rlock::cli
