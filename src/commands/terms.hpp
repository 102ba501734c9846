#pragma once

#include <optional>
#include <string>

#include "commands/options.hpp"
#include "lock/lease.hpp"

namespace rlock::commands {

/// How long a lock may be waited for, as lock::Acquisition takes it.
std::optional<base::Duration> patience(const Options& options);

/// The terms of a lease that is enforced: with time to kill in, as this machine needs it. Fails (usage) where the ttl
/// is too short.
base::Result<lock::LeaseTerms> lease_terms(const Options& options, lock::Renewing renewing);

/// TOKEN of renew and release: the argument, standard input for "-", or RLOCK_TOKEN.
base::Result<std::string> read_token(const Options& options);

}  // namespace rlock::commands
