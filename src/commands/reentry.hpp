#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/options.hpp"
#include "lock/backend.hpp"
#include "lock/lease.hpp"
#include "lock/patience.hpp"
#include "process/nested.hpp"
#include "process/signals.hpp"

namespace rlock::commands {

/// A key of a run, under the token and the fence of its lease.
struct HeldKey {
  std::string key;
  std::string token;
  std::uint64_t fence = 0;
};

/// What the environment says is held around this process: by a run or by a shell that called acquire.
std::vector<HeldKey> held_around();

/// Re-entry: when the environment names a holder of a key, the command runs under that holder's lease. The server
/// is asked first, because the environment may be out of date or come from another server. If the holder is a run
/// above this one, it renews, waits for this run to end, and stops it when the lock is lost. If the holder is a shell
/// that called acquire, this run renews.
class Reentry {
 public:
  struct Found {
    lock::Lease lease;
    std::optional<process::OuterRun> outer;  ///< the run that renews and releases
  };

  /// request: names the key; gets the token of the environment, and who is said to hold it.
  Reentry(const Options& options, lock::Backend& backend, lock::Request& request, const lock::Patience& patience,
          process::Signals& signals)
      : options_(options), backend_(backend), request_(request), patience_(patience), signals_(signals) {}

  /// nullopt: there is no such holder.
  base::Result<std::optional<Found>> operator()();

 private:
  base::Result<lock::Ownership> check_until(base::Instant limit);
  base::Result<lock::Ownership> await_reclaim(const process::OuterRun& outer);
  base::Instant last_look() const;

  const Options& options_;
  lock::Backend& backend_;
  lock::Request& request_;
  const lock::Patience& patience_;
  process::Signals& signals_;
};

}  // namespace rlock::commands
