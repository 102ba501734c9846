#include "cli/tree.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

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

template <class Target>
CLI::Option* add_duration(CLI::App& app, const std::string& names, Target& target, Duration least,
                          const std::string& help) {
  const auto name = names.substr(names.rfind("--"));
  return app
      .add_option_function<std::string>(
          names,
          [&target, name, least](const std::string& text) {
            const auto duration = base::parse_duration(text);
            if (!duration) {
              throw CLI::ValidationError(name, "'" + text + "' is no duration; write 500ms, 30s, 5m or 1h30m");
            }
            if (*duration < least) {
              throw CLI::ValidationError(name, "'" + text + "' is too short; at least " + base::format_duration(least));
            }
            target = *duration;
          },
          help)
      ->type_name("D");
}

int signal_number(const std::string& text) {
  const std::string name = text.starts_with("SIG") ? text.substr(3) : text;
  for (int number = 1; number < NSIG; ++number) {
    const char* abbreviation = ::sigabbrev_np(number);
    if (name == std::to_string(number) || (abbreviation != nullptr && name == abbreviation)) return number;
  }
  throw CLI::ValidationError("--signal", "'" + text + "' is no signal; write TERM, INT, 15 or the like");
}

void add_ttl(CLI::App& app, Options& options) {
  add_duration(app, "-t,--ttl", options.ttl, lock::least_ttl, "How long the lease lasts unless renewed; at least 100ms")
      ->envname("RLOCK_TTL")
      ->default_str("30s");
}

void add_waiting(CLI::App& app, Options& options) {
  auto* wait = add_duration(app, "-w,--wait", options.wait, Duration(0), "Give up after D; default: wait for ever")
                   ->envname("RLOCK_WAIT");
  app.add_flag("-n,--nonblock", options.nonblock, "Give up at once")->excludes(wait);
  app.add_option_function<std::string>(
         "-E,--conflict-exit-code",
         [&options](const std::string& text) {
           const auto [end, error] =
               std::from_chars(text.data(), text.data() + text.size(), options.conflict_exit_code);
           if (error != std::errc{} || end != text.data() + text.size() || options.conflict_exit_code < 0 ||
               options.conflict_exit_code > 255 || text != std::to_string(options.conflict_exit_code)) {
             throw CLI::ValidationError("--conflict-exit-code", "'" + text + "' is no exit status; write 0 to 255");
           }
         },
         "Exit status for busy")
      ->type_name("N")
      ->default_str("75");
}

void add_run(CLI::App& app, Options& options) {
  app.add_option_function<std::string>(
         "--signal", [&options](const std::string& text) { options.stop_signal = signal_number(text); },
         "What asks COMMAND to end when the lease is lost")
      ->type_name("SIG")
      ->default_str("TERM");
  add_duration(app, "-k,--kill-after", options.kill_after, Duration(0),
               "How long COMMAND then has before SIGKILL; default: 5s, at most a third of the ttl");
  app.add_option_function<std::string>(
         "--on-lost",
         [&options](const std::string& text) { options.on_lost = text == "warn" ? OnLost::warn : OnLost::kill; },
         "Whether a lost lock ends COMMAND")
      ->type_name("kill|warn")
      ->check([](const std::string& text) {
        return text == "kill" || text == "warn" ? std::string() : "'" + text + "' is neither kill nor warn";
      })
      ->default_str("kill");
  app.add_flag("--no-renew", options.no_renew, "A fixed lease: COMMAND is stopped when it ends");
  app.add_flag("--show-command", options.show_command, "Let status show the command line, which may carry secrets")
      ->envname("RLOCK_SHOW_COMMAND");
}

void add_token(CLI::App& app, Options& options) {
  app.add_option("TOKEN", options.token, "Printed by acquire; - reads standard input; default: RLOCK_TOKEN")
      ->type_name("");
}

void add_format(CLI::App& app, Options& options, const std::string& name, Format format, const std::string& help) {
  app.add_flag_callback(
      name, [&options, format] { options.format = format; }, help);
}

}  // namespace

void add_common(CLI::App& app, Options& options) {
  // CLI11 takes an empty variable for an unset one; an empty prefix means something.
  if (const char* prefix = std::getenv("RLOCK_PREFIX"); prefix != nullptr && *prefix == '\0') options.prefix = "";

  // In a callback, not a check: a value from the environment that fails a check is passed over by newer CLI11,
  // and the lock would be taken on the default server.
  app.add_option_function<std::string>(
         "--server",
         [&options](const std::string& url) {
           if (url.find(',') != std::string::npos) {
             throw CLI::ValidationError("--server", "this rlock locks on one server; name only one");
           }
           const auto address = redis::Address::parse(url);
           if (!address) throw CLI::ValidationError("--server", "the URL " + address.error().message);
           options.servers = {url};
         },
         "Where the lock lives: redis://[user[:password]@]host[:port][/db], unix:///path[?db=N], or local; "
         "default redis://127.0.0.1:6379")
      ->envname("RLOCK_SERVER")
      ->type_name("URL");
  app.add_option("--config", "Read options from FILE; default /etc/rlock.conf, and over it $XDG_CONFIG_HOME/rlock.conf")
      ->envname("RLOCK_CONFIG")
      ->type_name("FILE");
  app.add_option("--prefix", options.prefix, "Put before KEY on the server; '' locks the very key of another library")
      ->envname("RLOCK_PREFIX")
      ->type_name("P")
      ->default_str("rlock:");
  app.add_option("--password-file", options.password_file, "The password is the first line of FILE")->type_name("FILE");
  add_duration(app, "--connect-timeout", options.connect_timeout, Duration(1),
               "How long a server may take to connect or answer")
      ->default_str("5s");
  auto* quiet = app.add_flag("-q,--quiet", options.quiet, "Say nothing but errors");
  app.add_flag("-v,--verbose", options.verbose, "Say what happens")->excludes(quiet);
}

void add_verb(CLI::App& app, Verb verb, Options& options) {
  auto* key =
      app.add_option("KEY", options.key, verb == Verb::status ? "The lock; default: all" : "The lock")->type_name("");
  if (verb != Verb::status) key->required();
  switch (verb) {
    case Verb::run:
      add_ttl(app, options);
      add_waiting(app, options);
      add_run(app, options);
      break;
    case Verb::acquire:
      add_ttl(app, options);
      add_waiting(app, options);
      add_format(app, options, "--json", Format::json, "Print a JSON object");
      add_format(app, options, "--export", Format::shell, "Print an export line for eval");
      break;
    case Verb::renew:
      add_token(app, options);
      add_ttl(app, options);
      break;
    case Verb::release:
      add_token(app, options);
      app.add_flag("--force", options.force, "Release it whoever holds it, and say whom");
      break;
    case Verb::status:
      add_format(app, options, "--json", Format::json, "Print JSON");
      app.add_flag("--exit-code", options.exit_code, "Exit 0 when held, 1 when free");
      break;
  }
}

}  // namespace rlock::cli
