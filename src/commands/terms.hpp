#pragma once

#include <optional>
#include <string>

#include "commands/options.hpp"
#include "lock/lease.hpp"
#include "lock/patience.hpp"

namespace rlock::commands {

/// --wait or --nonblock; nullopt: for ever.
std::optional<base::Duration> wait_of(const Options& options);

/// How long a lock may be waited for, from now on. The first answer may take as long as a --connect-timeout that the
/// user has set; else all ends half a second behind --wait or --nonblock.
lock::Patience patience(const Options& options);

/// The terms of a lease that is enforced: with time to kill in, as this machine needs it. Fails (usage) where the ttl
/// is too short.
base::Result<lock::LeaseTerms> lease_terms(const Options& options, lock::Renewing renewing);

/// TOKEN of renew and release: the argument, standard input for "-", or RLOCK_TOKEN.
base::Result<std::string> read_token(const Options& options);

}  // namespace rlock::commands
