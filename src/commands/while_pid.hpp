#pragma once

#include <optional>

#include "commands/options.hpp"
#include "commands/place.hpp"
#include "lock/lease.hpp"
#include "process/other_process.hpp"

namespace rlock::commands {

/// The process of --while-pid, opened before anything is acquired for it, and what its lease has to leave room for.
struct WhilePid {
  process::PinnedProcess process;
  lock::LeaseTerms terms;

  /// nullopt without --while-pid. Fails with usage or internal.
  static base::Result<std::optional<WhilePid>> open(const Options& options);
};

/// Leaves a process in the background (`rlock-keeper KEY`) that renews the lease while the process lives, and releases
/// the lock when it has ended. It ends by itself when somebody releases the lock with its token. When the lock is lost,
/// it stops the process as `run` does its command. It keeps none of our descriptors and has a connection of its own.
/// request: that of the acquire. Returns once it is at work; on an error, internal, there is none, and the lock is
/// held.
base::Result<void> start_keeper(const Options& options, const Place& place, const lock::Request& request,
                                const lock::Lease& lease, WhilePid while_pid);

}  // namespace rlock::commands
