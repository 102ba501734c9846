#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/wait/clock.hpp"
#include "lock/mode.hpp"
#include "show/log_json.hpp"
#include "show/selection.hpp"
#include "stores/common/store.hpp"

namespace rlock::commands {

enum class OnLost { kill, warn };
/// What acquire (the token, JSON, a line for eval) and status (a table, JSON, keys, metrics) print.
enum class Format { usual, json, shell, keys, prometheus };

/// The options as the command line, the environment and the configuration files set them. The meaning and default of
/// each field stand with its option in cli/rows: what is zero here has no default, or gets it from there.
struct Options {
  std::string key;                   ///< empty: status of all
  std::vector<std::string> with;     ///< run: further keys
  std::string token;                 ///< renew, release; "-" reads standard input
  std::vector<std::string> command;  ///< run

  std::vector<std::string> servers;  ///< a URL each; empty: nothing was configured
  // For messages: "--server", "RLOCK_SERVER in the environment (--server)", "PATH line N: server".
  std::string servers_source = "--server";
  bool server_is_from_file = false;
  std::string config_file;  ///< empty: the default ones
  std::string config_file_source;
  std::string prefix;
  std::string prefix_source;
  stores::Compat compat = stores::Compat::none;
  std::string compat_source;
  std::string password_file;
  std::string password_file_source;
  base::Duration connect_timeout{};
  std::string connect_timeout_source;  ///< empty: nobody has set it

  base::Duration ttl{};
  lock::Mode mode;
  std::optional<base::Duration> wait;  ///< nullopt: for ever
  bool nonblock = false;
  int conflict_exit_code = 0;
  base::Duration hold{};
  base::Duration once{};
  base::Duration remember{};
  base::Duration grace{};
  int replicas = 0;
  int stop_signal = 0;
  std::optional<base::Duration> kill_after;
  base::Duration timeout{};  ///< of the command
  OnLost on_lost = OnLost::kill;
  int while_pid = 0;  ///< 0: none
  bool no_renew = false;
  bool tree = false;
  bool show_command = false;
  std::string label;

  Format format = Format::usual;
  bool exit_code = false;
  bool watch = false;
  bool only_in_use = false;
  std::optional<show::Order> order;  ///< nullopt: by state for people, by key for programs
  bool force = false;
  bool quiet = false;
  bool verbose = false;
  show::LogFormat log_format = show::LogFormat::text;
  bool syslog = false;
};

}  // namespace rlock::commands
