#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "commands/options.hpp"
#include "commands/reentry.hpp"
#include "lock/multi_lock.hpp"
#include "process/nested.hpp"
#include "process/signals.hpp"
#include "stores/common/store.hpp"

namespace rlock::commands {

/// The keys of a run, KEY and those of --with: each is re-entered where it is held around this run, and else acquired.
class Keys {
 public:
  /// names: of KEY first.
  Keys(const Options& options, std::vector<lock::Name> names, std::unique_ptr<stores::Store> store,
       lock::LeaseTerms terms, process::Signals& signals);

  /// All or none of them, see lock::MultiLock::acquire(). What could not be released in time is left to a process in
  /// the background.
  base::Result<lock::MultiLock::Outcome> acquire_or_reenter();
  /// After Outcome::busy; returns the exit status.
  int report_busy() const;
  /// After Outcome::lost, and when one was lost while the command ran: which it was.
  const std::string& lost_key() const;
  bool outer_run_has_ended() const;

  // What follows holds after Outcome::held.

  /// What this run renews and, where it is its own, releases: nothing if all are held by runs around this one.
  lock::MultiLock& leases() { return leases_; }
  const lock::MultiLock& leases() const { return leases_; }
  /// Whether this run has acquired one, which it releases.
  bool has_own() const { return leases_.has_own(); }
  /// The runs around this one that hold the others.
  const std::vector<process::OuterRun>& outer_runs() const { return outer_runs_; }
  bool is_nested() const { return is_nested_; }
  /// A random text in the environment of the command and of all that it starts.
  const std::string& marker() const { return marker_; }
  /// Where this ends the permit: base::never if all are held by runs around this one.
  base::Instant deadline() const;

  void set_environment() const;
  /// Of one of the keys.
  std::uint64_t fence(const std::string& key) const;
  /// For -v.
  void report_acquired() const;
  /// Likewise, of those that this run has acquired.
  void report_released(std::chrono::nanoseconds held, const lock::LastRun& run) const;
  /// After a release that found the lock with another: asks the server once who that is, and says so.
  void report_taken();
  /// In the guard of a dead rlock, over connections of its own; until `until`. prepare: before each try.
  void release_late(base::Instant until, const std::function<void(lock::MultiLock&)>& prepare) const;

 private:
  base::Result<void> reenter();
  base::Result<lock::MultiLock::Outcome> acquire();
  base::Result<lock::MultiLock::Outcome> acquire_own();
  void release_left() const;
  base::Result<bool> outer_runs_hold() const;
  void report_run_above() const;
  std::unique_ptr<lock::Backend> open(const lock::Name& name) const;
  lock::Request request_for(const lock::Name& name) const;

  const Options& options_;
  std::vector<lock::Name> names_;
  std::unique_ptr<stores::Store> store_;
  lock::LeaseTerms terms_;
  process::Signals& signals_;
  lock::Patience patience_;
  lock::MultiLock leases_;
  std::vector<HeldKey> held_;
  std::vector<process::OuterRun> outer_runs_;
  bool is_nested_ = false;
  std::chrono::nanoseconds waited_{};
  std::string marker_;
};

}  // namespace rlock::commands
