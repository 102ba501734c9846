#include "cli/tree.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <variant>

#include "base/duration.hpp"
#include "lock/lease.hpp"
#include "redis/address.hpp"

namespace rlock::cli {

using base::Duration;
using commands::Format;
using commands::OnLost;
using commands::Options;
using commands::Verb;

namespace {

constexpr unsigned bit(Verb verb) { return 1U << static_cast<unsigned>(verb); }
constexpr unsigned every_verb = ~0U;
constexpr unsigned takers = bit(Verb::run) | bit(Verb::acquire);

// The settings below are callbacks, not checks: a value from the environment that fails a check is passed over by newer
// CLI11, and the lock would be taken on the default server.

Duration duration(const char* name, const std::string& text, Duration least) {
  const auto duration = base::parse_duration(text);
  if (!duration) throw CLI::ValidationError(name, "'" + text + "' is no duration; write 500ms, 30s, 5m or 1h30m");
  if (*duration < least) {
    throw CLI::ValidationError(name, "'" + text + "' is too short; at least " + base::format_duration(least));
  }
  return *duration;
}

void set_server(Options& options, const std::string& url) {
  if (url.find(',') != std::string::npos) {
    throw CLI::ValidationError("--server", "this rlock locks on one server; name only one");
  }
  const auto address = redis::Address::parse(url);
  if (!address) throw CLI::ValidationError("--server", "the URL " + address.error().message);
  options.servers = {url};
}

void set_conflict_exit_code(Options& options, const std::string& text) {
  auto& code = options.conflict_exit_code;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  if (error != std::errc{} || end != text.data() + text.size() || code < 0 || code > 255 ||
      text != std::to_string(code)) {
    throw CLI::ValidationError("--conflict-exit-code", "'" + text + "' is no exit status; write 0 to 255");
  }
}

void set_signal(Options& options, const std::string& text) {
  const std::string name = text.starts_with("SIG") ? text.substr(3) : text;
  for (int number = 1; number < NSIG; ++number) {
    const char* abbreviation = ::sigabbrev_np(number);
    if (name == std::to_string(number) || (abbreviation != nullptr && name == abbreviation)) {
      options.stop_signal = number;
      return;
    }
  }
  throw CLI::ValidationError("--signal", "'" + text + "' is no signal; write TERM, INT, 15 or the like");
}

void set_on_lost(Options& options, const std::string& text) {
  if (text != "kill" && text != "warn") {
    throw CLI::ValidationError("--on-lost", "'" + text + "' is neither kill nor warn");
  }
  options.on_lost = text == "warn" ? OnLost::warn : OnLost::kill;
}

using Flag = bool Options::*;
using Choice = void (*)(Options&);
using Text = std::string Options::*;
using Parsed = void (*)(Options&, const std::string& text);  // throws CLI::ValidationError

}  // namespace

struct Tree::Row {
  unsigned verbs;
  const char* names;  // the long one last
  const char* value;  // what stands for it in the help; "" for flags
  std::variant<std::monostate, Flag, Choice, Text, Parsed> target;
  const char* help;
  const char* environment = "";
  const char* default_text = "";
  const char* excludes = "";  // mutual

  std::string_view long_name() const {
    const std::string_view all = names;
    return all.substr(all.rfind("--"));
  }
};

// Every option: its names, environment, default and help stand here alone.
const Tree::Row Tree::rows[]{
    {every_verb, "--server", "URL", Parsed(set_server),
     "Where the lock lives: redis://[[user:]password@]host[:port][/db], unix:///path[?db=N], or local; "
     "default redis://127.0.0.1:6379",
     "RLOCK_SERVER"},
    {every_verb, "--config", "FILE", std::monostate(),
     "Read options from FILE; default /etc/rlock.conf, and over it $XDG_CONFIG_HOME/rlock.conf", "RLOCK_CONFIG"},
    {every_verb, "--prefix", "P", &Options::prefix,
     "Put before KEY on the server; '' locks the very key of another library", "RLOCK_PREFIX", "rlock:"},
    {every_verb, "--password-file", "FILE", &Options::password_file, "The password is the first line of FILE",
     "RLOCK_PASSWORD_FILE"},
    {every_verb, "--connect-timeout", "D",
     [](Options& o, const std::string& text) { o.connect_timeout = duration("--connect-timeout", text, Duration(1)); },
     "How long a server may take to answer, or to come back where it is away", "", "5s"},
    {every_verb, "-q,--quiet", "", &Options::quiet, "Say nothing but errors", "", "", "--verbose"},
    {every_verb, "-v,--verbose", "", &Options::verbose, "Say what happens", "", "", "--quiet"},
    {takers | bit(Verb::renew), "-t,--ttl", "D",
     [](Options& o, const std::string& text) { o.ttl = duration("--ttl", text, lock::least_ttl); },
     "How long the lease lasts unless renewed; at least 100ms", "RLOCK_TTL", "30s"},
    {takers, "-w,--wait", "D",
     [](Options& o, const std::string& text) { o.wait = duration("--wait", text, Duration(0)); },
     "Give up after D; default: wait for ever", "RLOCK_WAIT", "", "--nonblock"},
    {takers, "-n,--nonblock", "", &Options::nonblock, "Give up at once", "", "", "--wait"},
    {takers, "-E,--conflict-exit-code", "N", Parsed(set_conflict_exit_code), "Exit status for busy", "", "75"},
    {bit(Verb::run), "--signal", "SIG", Parsed(set_signal), "What asks COMMAND to end when the lease is lost", "",
     "TERM"},
    {bit(Verb::run), "-k,--kill-after", "D",
     [](Options& o, const std::string& text) { o.kill_after = duration("--kill-after", text, Duration(0)); },
     "How long COMMAND then has before SIGKILL; default: 5s, at most a third of the ttl"},
    {bit(Verb::run), "--on-lost", "kill|warn", Parsed(set_on_lost), "Whether a lost lock ends COMMAND", "", "kill"},
    {bit(Verb::run), "--no-renew", "", &Options::no_renew, "A fixed lease: COMMAND is stopped when it ends"},
    {bit(Verb::run), "--tree", "", &Options::tree, "Hold the lock until all that COMMAND started has ended"},
    {bit(Verb::run), "--show-command", "", &Options::show_command,
     "Let status show the command line, which may carry secrets", "RLOCK_SHOW_COMMAND"},
    {bit(Verb::acquire) | bit(Verb::status), "--json", "", [](Options& o) { o.format = Format::json; }, "Print JSON",
     "", "", "--export"},
    {bit(Verb::acquire), "--export", "", [](Options& o) { o.format = Format::shell; },
     "Print RLOCK_KEY, RLOCK_TOKEN and RLOCK_FENCE as an export line for eval", "", "", "--json"},
    {bit(Verb::release), "--force", "", &Options::force, "Release it whoever holds it, and say whom"},
    {bit(Verb::status), "--exit-code", "", &Options::exit_code, "Exit 0 when held, 1 when free"},
};

Tree::Tree(Options& options, std::span<const std::string> words) : options_(options) {
  // CLI11 takes an empty variable for an unset one; an empty prefix means something.
  if (const char* prefix = std::getenv("RLOCK_PREFIX"); prefix != nullptr && *prefix == '\0') options.prefix = "";
  app_.set_help_flag("-h,--help", "Print this help");
  for (const auto& word : words) {
    if (word.starts_with("--")) {
      named_.insert(word.substr(0, word.find('=')));
    } else if (word.starts_with('-')) {
      for (const char flag : word) named_.insert({'-', flag});
    }
  }
  for (const auto& row : rows) {
    if (row.verbs == every_verb && is_named(row)) add(row);
  }
}

void Tree::add_verb(Verb verb) {
  verb_ = verb;
  auto* key =
      app_.add_option("KEY", options_.key, verb == Verb::status ? "The lock; default: all" : "The lock")->type_name("");
  if (verb == Verb::run || verb == Verb::acquire) key->required();
  if (verb == Verb::renew || verb == Verb::release) {
    app_.add_option("TOKEN", options_.token, "Printed by acquire; - reads standard input; default: RLOCK_TOKEN")
        ->type_name("");
  }
  for (const auto& row : rows) {
    if (row.verbs != every_verb && (row.verbs & bit(verb)) != 0 && is_named(row)) add(row);
  }
}

CLI::Option* Tree::find_option(std::string_view long_name) {
  for (const auto& row : rows) {
    if ((row.verbs & bit(verb_)) == 0 || row.long_name() != long_name) continue;
    auto* option = app_.get_option_no_throw(std::string(long_name));
    return option != nullptr ? option : add(row);
  }
  return nullptr;
}

bool Tree::is_option(std::string_view long_name) {
  return std::ranges::find(rows, long_name, &Row::long_name) != std::end(rows);
}

bool Tree::is_named(const Row& row) const {
  if (*row.environment != '\0' && std::getenv(row.environment) != nullptr) return true;
  if (named_.contains("--help") || named_.contains("-h") || named_.contains(row.long_name())) return true;
  return row.names[1] != '-' && named_.contains(std::string_view(row.names, 2));
}

CLI::Option* Tree::add(const Row& row) {
  const std::string names = row.names, help = row.help;
  CLI::Option* option = nullptr;
  if (const auto* flag = std::get_if<Flag>(&row.target)) {
    option = app_.add_flag(names, options_.*(*flag), help);
  } else if (const auto* choice = std::get_if<Choice>(&row.target)) {
    option = app_.add_flag_callback(names, [this, choose = *choice] { choose(options_); }, help);
  } else if (const auto* text = std::get_if<Text>(&row.target)) {
    option = app_.add_option(names, options_.*(*text), help);
  } else if (const auto* parsed = std::get_if<Parsed>(&row.target)) {
    option = app_.add_option_function<std::string>(
        names, [this, parse = *parsed](const std::string& value) { parse(options_, value); }, help);
  } else {
    option = app_.add_option(names, help);
  }
  if (*row.value != '\0') option->type_name(row.value);
  if (*row.environment != '\0') option->envname(row.environment);
  if (*row.default_text != '\0') option->default_str(row.default_text);
  auto* other = *row.excludes != '\0' ? app_.get_option_no_throw(row.excludes) : nullptr;
  if (other != nullptr) option->excludes(other);
  return option;
}

}  // namespace rlock::cli
