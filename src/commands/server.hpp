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

/// The backend of these servers for one lock, or for all where the options name no KEY; not connected yet. wire_key:
/// prefix and KEY.
std::unique_ptr<lock::Backend> open_backend(const Options& options, std::span<const redis::Address> servers,
                                            std::string_view wire_key, redis::Greet greet);

/// The same for a process in the background that goes on with a lock which is held already. A private server that is
/// gone is not started again for it: the lock ended with that server. timeout: how long a server may take to connect or
/// to answer.
std::unique_ptr<lock::Backend> open_for_holder(const Options& options, std::span<const redis::Address> servers,
                                               std::string_view wire_key, base::Duration timeout);

}  // namespace rlock::commands
