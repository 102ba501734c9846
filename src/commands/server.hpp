#pragma once

#include <memory>

#include "base/error.hpp"
#include "commands/options.hpp"
#include "local/locator.hpp"
#include "lock/backend.hpp"
#include "redis/address.hpp"
#include "redis/session.hpp"

namespace rlock::commands {

/// The server that the options name, with its password. Fails with usage or configuration.
base::Result<redis::Address> server_address(const Options& options);

/// The names on the server of the lock that the options name; fails with usage where KEY cannot name one.
base::Result<lock::Names> lock_names(const Options& options);

/// The backend of this server, not connected yet. timeout: how long the server may take to connect or to answer.
std::unique_ptr<lock::Backend> open_backend(const redis::Address& address, base::Duration timeout, redis::Greet greet,
                                            local::OnDemand on_demand = local::OnDemand::start);

}  // namespace rlock::commands
