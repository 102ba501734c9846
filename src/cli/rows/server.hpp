#pragma once

#include <algorithm>
#include <iterator>

#include "cli/option_table.hpp"
#include "stores/registry/registry.hpp"

namespace rlock::cli::rows {

inline Complaint set_server(commands::Options& options, std::string_view text) {
  auto urls = stores::read_urls(text);
  if (!urls) return urls.error().message;
  std::ranges::move(*urls, std::back_inserter(options.servers));
  return std::nullopt;
}

inline Complaint set_compat(commands::Options& options, std::string_view text) {
  options.compat = text == "redisson" ? stores::Compat::redisson : stores::Compat::none;
  return std::nullopt;
}

/// What keeps the lock, and how to reach it.
inline constexpr OptionRow server[]{
    {.name = "server",
     .kind = Kind::text,
     .value = "URL",
     .group = Group::server,
     .target = set_server,
     .help = "redis://HOST, unix:///PATH or a form of rlock --help; without it redis://127.0.0.1:6379",
     .is_brief = true,
     .more = "Several URLs, separated by commas or each in an option of its own, are independent servers of which a "
             "majority holds the lock (Redlock). SERVERS has all forms.",
     .environment = "RLOCK_SERVER",
     .also = "url host redis address",
     .repeatable = true,
     .source = &commands::Options::servers_source},
    {.name = "prefix",
     .kind = Kind::text,
     .value = "P",
     .group = Group::server,
     .target = &commands::Options::prefix,
     .help = "Put P before KEY on the server",
     .is_brief = true,
     .more = "With '' the key is that of other libraries.",
     .default_text = "rlock:",
     .environment = "RLOCK_PREFIX",
     .may_be_empty = true,
     .source = &commands::Options::prefix_source},
    {.name = "compat",
     .kind = Kind::choice,
     .value = "none|redisson",
     .group = Group::server,
     .target = set_compat,
     .help = "With redisson, KEY is an RLock of Redisson",
     .more = "rlock and services that lock it exclude and wake each other. See LOCKS OF OTHER LIBRARIES.",
     .default_text = "none",
     .environment = "RLOCK_COMPAT",
     .source = &commands::Options::compat_source},
    {.name = "password-file",
     .kind = Kind::file,
     .value = "FILE",
     .group = Group::server,
     .target = &commands::Options::password_file,
     .help = "Read the password from the first line of FILE",
     .environment = "RLOCK_PASSWORD_FILE",
     .source = &commands::Options::password_file_source},
    {.name = "connect-timeout",
     .kind = Kind::duration,
     .value = "D",
     .group = Group::server,
     .target = &commands::Options::connect_timeout,
     .help = "How long to try a server that is down or does not answer",
     .more = "If it is set, the first answer may take that long under --nonblock and --wait too.",
     .default_text = "5s",
     .min = 1,
     .source = &commands::Options::connect_timeout_source},
    {.name = "config",
     .kind = Kind::file,
     .value = "FILE",
     .group = Group::server,
     .target = &commands::Options::config_file,
     .help = "Read options from FILE; without it from ~/.config/rlock.conf and /etc/rlock.conf",
     .more =
         "The first is $XDG_CONFIG_HOME/rlock.conf if that variable is set. What it sets counts, not what the second "
         "sets.",
     .environment = "RLOCK_CONFIG",
     .sources = Sources::command_line,
     .source = &commands::Options::config_file_source},
};

}  // namespace rlock::cli::rows
