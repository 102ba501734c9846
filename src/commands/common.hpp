#pragma once

#include <string>

#include "base/error.hpp"
#include "commands/options.hpp"
#include "lock/acquire.hpp"
#include "process/signals.hpp"

namespace rlock::commands {

/// How long a lock may be waited for, as lock::Acquisition takes it.
std::optional<base::Duration> patience(const Options& options);

/// The terms of a lease that is enforced: with time to kill in, as this machine needs it. Fails (usage) where the ttl
/// is too short.
base::Result<lock::LeaseTerms> lease_terms(const Options& options, lock::Renewing renewing);

/// TOKEN of renew and release: the argument, standard input for "-", or RLOCK_TOKEN.
base::Result<std::string> read_token(const Options& options);

/// Prints an error, with the key, for how long it was tried since `since`, and advice when no server was configured and
/// none answered. Returns its exit status: 128 + n when signal n interrupted.
int report(const base::Error& error, const Options& options, const process::Signals* signals = nullptr,
           std::optional<base::Instant> since = std::nullopt);

/// Says, with -v, why there is nothing to do (--once). Returns the exit status.
int report_done(const Options& options, const lock::Done& done);

/// Says who holds this key, if that is known; under -E 0 (busy is no failure) only with -v. Returns the exit status for
/// busy. A lock that was free and kept by --grace is not busy: that is an error, and its status is returned.
int report_busy(const Options& options, const std::string& key, const std::optional<lock::Busy>& met,
                const std::string& server);

/// Says that the token does not hold this key, and who does, whom it asks the server for. Returns the exit status for
/// lost.
int report_not_held(const Options& options, lock::Backend& backend, const lock::Names& names,
                    lock::Standing::Holder holder);

/// How to release a lock whose lease has no end.
std::string how_to_end(const std::string& key, const Options& options);

/// Writes to standard output, all of it and now: false when that failed.
bool print(std::string_view text);

}  // namespace rlock::commands
