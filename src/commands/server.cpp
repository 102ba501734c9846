#include "commands/server.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "base/text.hpp"
#include "commands/credentials.hpp"
#include "lock/cluster.hpp"
#include "lock/quorum.hpp"
#include "lock/single_server.hpp"
#include "redis/fixed_locator.hpp"
#include "redis/sentinel_locator.hpp"

namespace rlock::commands {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

// what: where the key was given.
Result<lock::Names> names_of(const Options& options, const std::string& key, const std::string& what) {
  if (key.empty()) return fail(ErrorCode::usage, what + " is empty; name the lock");
  if (key.size() > lock::max_key) {
    return fail(ErrorCode::usage, what + " has " + std::to_string(key.size()) + " bytes; the maximum is " +
                                      std::to_string(lock::max_key));
  }
  if (base::has_control(key)) return fail(ErrorCode::usage, what + " has a control character in it; leave it out");
  lock::Names names(options.prefix + key);
  if (lock::is_side_key(names.lock)) {
    return fail(ErrorCode::usage, what + " " + key + " is a name that rlock needs for its own data; choose another");
  }
  names.key = key;
  return names;
}

bool is_this_machine(const redis::Endpoint& endpoint) {
  return endpoint.host == "localhost" || endpoint.host == "::1" || endpoint.host.starts_with("127.");
}

// The first host that this password would be sent to without encryption over a network; empty: there is none.
std::string in_the_clear(const redis::Address& address) {
  const bool has_secret = (address.password && !address.password->empty()) || address.sentinel_password;
  if (!has_secret || address.tls || address.transport == redis::Transport::unix_socket) return "";
  const auto other = std::ranges::find_if_not(address.endpoints, is_this_machine);
  if (other == address.endpoints.end()) return "";
  return address.host_may_be_secret ? "another host" : other->host;
}

redis::Greeting greeting_of(const redis::Address& address) {
  return {address.user, address.password, address.database, std::string(address.lone_word_note())};
}

// The same for all users of a server.
std::string place_name(const redis::Address& address) {
  return address.transport == redis::Transport::unix_socket ? address.path : address.endpoints.front().name();
}

std::unique_ptr<redis::Locator> locator_of(const redis::Address& address, local::OnDemand on_demand) {
  if (address.is_local) return std::make_unique<local::Locator>(on_demand);
  if (address.kind == redis::Kind::sentinel) return std::make_unique<redis::SentinelLocator>(address);
  return std::make_unique<redis::FixedLocator>(address);
}

// Each of n servers gives `slots` votes, and a holder needs more than n/2 of them: for two slots on three servers that
// would be three holders.
Result<void> check_mode(const Options& options, std::size_t servers) {
  if (options.mode.is_for_several() && options.compat == Compat::redisson) {
    return fail(ErrorCode::usage, options.mode.option() +
                                      " does not go together with --compat redisson, whose RLock has one holder; leave "
                                      "one of them out");
  }
  if (options.mode.kind == lock::Mode::Kind::slots && servers > 1) {
    return fail(ErrorCode::usage,
                "--slots cannot be counted by several independent servers (--server); use one server, Sentinel or a "
                "Cluster");
  }
  return {};
}

// A list is of locks of every form; the plain scripts show those of another as foreign.
const lock::Scripts& scripts_for(const Options& options) {
  return options.compat == Compat::redisson && !options.key.empty() ? lock::redisson_scripts : lock::plain_scripts;
}

std::unique_ptr<lock::Backend> open(std::span<const redis::Address> addresses, std::string_view wire_key,
                                    const lock::Scripts& scripts, base::Duration timeout, redis::Greet greet,
                                    local::OnDemand on_demand) {
  const auto server_at = [&](const redis::Address& address) {
    return std::make_unique<lock::SingleServer>(
        redis::Session(locator_of(address, on_demand), greeting_of(address), timeout, greet), scripts);
  };
  if (addresses.size() > 1) {
    std::vector<lock::Quorum::Server> servers;
    for (const auto& address : addresses) {
      servers.push_back({lock::rank_of(wire_key, place_name(address)), server_at(address)});
    }
    return std::make_unique<lock::Quorum>(std::move(servers), timeout);
  }
  const auto& address = addresses.front();
  if (address.kind == redis::Kind::cluster) {
    return std::make_unique<lock::Cluster>(address, greeting_of(address), timeout, greet, wire_key, scripts);
  }
  return server_at(address);
}

}  // namespace

Result<std::vector<redis::Address>> server_addresses(const Options& options) {
  const auto wrong = options.server_is_from_file ? ErrorCode::configuration : ErrorCode::usage;
  std::vector<redis::Address> addresses;
  for (const auto& url : options.servers) {
    auto address = redis::Address::parse(url);
    if (!address) return fail(wrong, options.servers_source + ": the URL " + address.error().message);
    addresses.push_back(std::move(*address));
  }
  if (addresses.empty()) addresses.emplace_back();
  if (auto together = redis::check_together(addresses); !together) {
    return fail(wrong, options.servers_source + " " + together.error().message);
  }
  RLOCK_TRY(check_mode(options, addresses.size()));
  Credentials credentials(options);
  std::string other_host;
  for (auto& address : addresses) {
    RLOCK_TRY(credentials.add_to(address));
    if (other_host.empty()) other_host = in_the_clear(address);
  }
  if (!other_host.empty()) {
    base::log_advice("the password is sent unencrypted to " + other_host + "; rediss:// encrypts it");
  }
  return addresses;
}

Result<lock::Names> lock_names(const Options& options) { return names_of(options, options.key, "KEY"); }

Result<std::vector<lock::Names>> all_lock_names(const Options& options) {
  std::vector<lock::Names> all;
  all.push_back(RLOCK_TRY(lock_names(options)));
  for (const auto& key : options.with) {
    auto names = RLOCK_TRY(names_of(options, key, "--with: KEY"));
    if (std::ranges::find(all, key, &lock::Names::key) != all.end()) {
      return fail(ErrorCode::usage, "--with: KEY " + key + " is given twice; name each key once");
    }
    all.push_back(std::move(names));
  }
  return all;
}

Result<Place> place_of(const Options& options) {
  auto names = RLOCK_TRY(lock_names(options));
  return Place{std::move(names), RLOCK_TRY(server_addresses(options))};
}

std::unique_ptr<lock::Backend> open_backend(const Options& options, std::span<const redis::Address> servers,
                                            std::string_view wire_key, redis::Greet greet) {
  return open(servers, wire_key, scripts_for(options), options.connect_timeout, greet, local::OnDemand::start);
}

std::unique_ptr<lock::Backend> open_for_holder(const Options& options, std::span<const redis::Address> servers,
                                               std::string_view wire_key, base::Duration timeout) {
  return open(servers, wire_key, scripts_for(options), timeout, redis::Greet::together, local::OnDemand::fail);
}

}  // namespace rlock::commands
