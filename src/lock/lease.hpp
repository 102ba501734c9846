#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/wait/clock.hpp"

namespace rlock::lock {

struct Lease {
  std::string token;
  std::uint64_t fence = 0;
  base::Instant counts_from{};  ///< before the request that got it was sent (R3 of tests/PROOFS.md)
};

/// The ttl of those who do not say --ttl.
inline constexpr base::Duration default_ttl = std::chrono::seconds(30);

/// Of those who do not say --kill-after; at most a third of the ttl.
inline constexpr base::Duration default_kill_after = std::chrono::seconds(5);

enum class Renewing { yes, no };

/// Between two renewals of what was granted for ttl: two thirds of it are left for tries that fail.
constexpr base::Duration renewal_pause(base::Duration ttl) { return ttl / 3; }

/// D, of what a request sent at `sent` got for ttl: a lease, or the vote of one of several servers.
base::Instant vote_deadline(base::Duration ttl, base::Instant sent);

/// The arithmetic of a lease: how long the answer "yours for ttl", given to a request sent at s, is sure
/// to hold. All of it is in this file.
///
///   D = s + ttl * (1 - 1 %) - slack    clocks may run 1 % apart
///   slack = 50 ms; below a ttl of 2 s, 2 ms + 1 % of the ttl
///   G = kill-after;  K (kill time) = 1 s, at most ttl / 10
struct LeaseTerms {
  base::Duration ttl{};
  std::chrono::nanoseconds kill_after{};
  std::chrono::nanoseconds kill_time{};

  /// kill_after: what the user asked for; without it default_kill_after, at most a third of the ttl. Fails (usage) when
  /// kill_after and kill time leave no room for the lease to be renewed after a first try failed, and names
  /// the smallest ttl that has room.
  ///
  /// min_kill_time: what killing takes on this machine at the least (R27 of tests/PROOFS.md).
  static base::Result<LeaseTerms> make(base::Duration ttl, std::optional<base::Duration> kill_after, Renewing renewing,
                                       std::chrono::nanoseconds min_kill_time = {});

  /// Of a lease that nobody enforces, as that of a script which called `acquire`: there is no command to end.
  static LeaseTerms unenforced(base::Duration ttl) { return {ttl, {}, {}}; }

  /// D, for a request about to be sent at `sent`.
  base::Instant deadline(base::Instant sent) const { return vote_deadline(ttl, sent); }
  /// Until when the server may keep a lease that is sure to last until `deadline`.
  base::Instant ends_on_server(base::Instant deadline) const { return deadline + (ttl - usable()); }
  /// When the command has to be asked to end, under a lease that is sure to last until `deadline`.
  base::Instant stop_at(base::Instant deadline) const { return deadline - kill_after - kill_time; }

  /// When to ask again after a request sent at `sent` was granted.
  base::Instant renew_at(base::Instant sent) const { return sent + renewal_pause(ttl); }
  /// For one try to renew: one that hangs must leave time for another.
  std::chrono::nanoseconds max_try() const;
  /// Between two looks at a lock whose other holders change it, too.
  base::Duration look_pause() const { return ttl / 10; }
  /// Between two tries while the server does not answer.
  std::chrono::nanoseconds retry_pause() const;

  /// How much of the ttl is usable: D - s.
  std::chrono::nanoseconds usable() const;
};

/// The least ttl that is accepted at all.
inline constexpr base::Duration min_ttl{100};

}  // namespace rlock::lock
