#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "commands/options.hpp"
#include "local/locator.hpp"
#include "lock/backend.hpp"
#include "lock/scripts.hpp"
#include "redis/address.hpp"
#include "redis/session.hpp"

namespace rlock::commands {

/// The servers that the options name, with their passwords: one, or those that keep a lock by majority. Fails with
/// usage or configuration.
base::Result<std::vector<redis::Address>> server_addresses(const Options& options);

/// The names on the server of the lock that the options name; fails with usage where KEY cannot name one.
base::Result<lock::Names> lock_names(const Options& options);

/// The same with those of --with behind it; fails where one is named twice.
base::Result<std::vector<lock::Names>> all_lock_names(const Options& options);

/// The lock that the options name, and where it is kept.
struct Place {
  lock::Names names;
  std::vector<redis::Address> servers;
};

/// Both of the above, for a verb that needs a KEY.
base::Result<Place> place_of(const Options& options);

/// What the server does for a lock of the form that --compat names.
const lock::Scripts& scripts_for(Compat compat);

/// The backend of these servers for one lock, not connected yet. wire_key: prefix and KEY. timeout: how long a server
/// may take to connect or to answer.
std::unique_ptr<lock::Backend> open_backend(std::span<const redis::Address> addresses, std::string_view wire_key,
                                            const lock::Scripts& scripts, base::Duration timeout, redis::Greet greet,
                                            local::OnDemand on_demand = local::OnDemand::start);

}  // namespace rlock::commands
