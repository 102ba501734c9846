#pragma once

#include <optional>
#include <string>

#include "commands/options.hpp"
#include "lock/backend.hpp"
#include "lock/lease.hpp"
#include "process/nested.hpp"
#include "process/signals.hpp"

namespace rlock::commands {

enum class Origin { acquired, reentered };

/// The lease that the command runs under. An acquired one is released at the end; a re-entered one is not.
struct HeldLease {
  lock::Lease lease;
  Origin origin = Origin::acquired;
  std::optional<process::OuterRun> outer = std::nullopt;  ///< the run that renews and releases a re-entered lease
  std::string nested = "";                                ///< RLOCK_NESTED: marks the processes of this nested run
};

/// What the environment of a command holds that runs under this token.
std::string marker_of(const std::string& token);

/// Re-entry: when the environment names a holder of this key, the command runs under that holder's lease. The server
/// is asked first, because the environment may be out of date or come from another server. If the holder is a run
/// above this one, it renews, waits for this run to end, and stops it when the lock is lost. If the holder is a shell
/// that called acquire, this run renews.
class Reentry {
 public:
  /// request: gets the token of the environment, and who is said to hold it.
  Reentry(const Options& options, lock::Backend& backend, lock::Request& request, process::Signals& signals)
      : options_(options), backend_(backend), request_(request), signals_(signals) {}

  /// nullopt: there is no such holder.
  base::Result<std::optional<HeldLease>> operator()();

 private:
  base::Result<lock::Standing> check_until(base::Instant limit);
  base::Result<lock::Standing> await_reclaim(const process::OuterRun& outer);
  base::Instant last_look() const;

  const Options& options_;
  lock::Backend& backend_;
  lock::Request& request_;
  process::Signals& signals_;
};

}  // namespace rlock::commands
