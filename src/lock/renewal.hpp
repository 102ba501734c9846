#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "base/permit.hpp"
#include "base/wait/event.hpp"
#include "lock/holding.hpp"
#include "lock/lease.hpp"

namespace rlock::lock {

/// What a Renewal does when somebody else has released the lock with our token: revokes the permit as for any lost
/// lock, or as Loss::released, which asks nobody to end.
enum class OnRelease { lost, end };

/// Keeps a lease alive from a thread of its own, the only one that talks to the servers while the command runs. It
/// extends the permit with each renewal and revokes it when the token does not hold the lock any more. No answer does
/// not mean lost: it tries again until the supervisor acts on the permit. When the servers report that the lock
/// was touched, it checks and does not renew: two renewals under one token would wake each other without end.
class Renewal {
 public:
  Renewal(Holding& holding, Lease lease, LeaseTerms terms, base::Permit& permit, OnRelease on_release = OnRelease::lost)
      : holding_(holding), lease_(std::move(lease)), terms_(terms), permit_(permit), on_release_(on_release) {}
  Renewal(const Renewal&) = delete;
  Renewal& operator=(const Renewal&) = delete;
  ~Renewal();

  /// Starts the thread, with every signal blocked in it. Where it cannot (internal), the lease is never renewed.
  base::Result<void> start();
  /// Renew now: rlock was stopped for an unknown time. Safe to call at any time.
  void check_now();
  /// Runs this while the thread does nothing but wait, so that a fork in it takes no lock of a library along; false,
  /// and nothing is run, where the thread is at work.
  bool while_asleep(const std::function<void()>& act);
  /// From here on the holding is the caller's, and no renewal comes after (R10 of tests/PROOFS.md). Returns at once
  /// where the thread sleeps, as it nearly always does: the next holder is not to wait until it has woken up and ended,
  /// which the destructor sees to. Else within milliseconds, because its waits can be broken off.
  void stop();

 private:
  class StopPoller;
  enum class Proceed { yes, no };
  enum class Woken { to_renew, to_check, to_stop };
  using Turn = std::unique_lock<std::mutex>;
  void run();
  void renew_until_over(StopPoller& poller, Turn& turn);
  base::Readiness wait(StopPoller& poller, std::span<pollfd> fds, base::Instant until, Turn& turn);
  Woken sleep(StopPoller& poller, base::Instant until, Turn& turn);
  Proceed renew_once(StopPoller& poller);
  Proceed check_once(StopPoller& poller);
  Proceed judge(const Ownership& ownership);
  void report_unwatched();
  void report_failing(const base::Error& error);
  void report_renewed(std::uint64_t fence);
  base::Wait one_try(StopPoller& poller) const;
  base::Instant renew_at(base::Instant counts_from) const;
  const std::string& key() const { return holding_.request().name.key; }

  Holding& holding_;
  Lease lease_;
  LeaseTerms terms_;
  base::Permit& permit_;
  OnRelease on_release_;
  std::mutex turn_;  ///< held by the thread but while it sleeps: of using the holding, and of these two
  bool is_stopped_ = false;
  bool is_asleep_ = false;
  base::Event stop_;
  base::Event nudge_;
  base::Instant next_{};       ///< when to renew
  base::Instant looked_at_{};  ///< the last renewal or check
  std::optional<base::Instant> failing_since_;
  int vain_checks_ = 0;       ///< since the last renewal: the server told of a change, and there was none
  base::Instant watch_at_{};  ///< from when on the server is asked again to tell of changes
  std::thread thread_;
};

}  // namespace rlock::lock
