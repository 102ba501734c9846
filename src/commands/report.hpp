#pragma once

#include <string>

#include "base/error.hpp"
#include "commands/options.hpp"
#include "lock/acquire.hpp"
#include "process/signals.hpp"

namespace rlock::commands {

/// Prints an error, with the key, for how long it was tried since `since`, and advice when no server was configured and
/// none answered. Returns its exit status: 128 + n when signal n interrupted.
int report(const base::Error& error, const Options& options, const process::Signals* signals = nullptr,
           std::optional<base::Instant> since = std::nullopt);

/// Prints what ends a verb with this status, where it is not an Error. Returns the status.
int report_end(int status, const std::string& message, const Options& options);

/// Says, with -v, why there is nothing to do (--once). Returns the exit status.
int report_done(const Options& options, const lock::AlreadySucceeded& done);

/// Says who holds this key, if that is known; under -E 0 (busy is no failure) only with -v. Returns the exit status for
/// busy. A lock that was free and kept by --grace is not busy: that is an error, and its status is returned.
int report_busy(const Options& options, const std::string& key, const std::optional<lock::Busy>& met,
                const std::string& server);

/// Says that the token does not hold this key, and who does, which it asks the server for. Returns the exit status for
/// lost.
int report_not_held(const Options& options, lock::Backend& backend, const lock::Name& name,
                    lock::Ownership::Holder holder);

/// Says that other data stands where the lock of this key would, and what may mend it.
std::string not_a_lock(const std::string& key, const Options& options);

/// Says that the lock is of the other kind (--compat), and what to do.
std::string other_form(const Options& options);

/// How to release a lock whose lease has no end.
std::string how_to_end(const std::string& key, const Options& options);

}  // namespace rlock::commands
