#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/wait/clock.hpp"
#include "lock/mode.hpp"
#include "lock/who.hpp"

namespace rlock::lock {

/// Who holds the lock, as a renewal or a check has found.
struct Ownership {
  enum class Holder { us, other, nobody };
  Holder holder = Holder::nobody;
  std::uint64_t fence = 0;            ///< of our lease; 0 when no record of it is left
  base::Instant counts_from{};        ///< after a renewal that found us: the lease counts from here
  std::optional<Record> record = {};  ///< of our lease; only from check(), and only if one is left
  Mode mode = {};                     ///< of our lease; only from check()
  std::string run_id = {};            ///< of the server's run, from a renewal that found us; empty if it is denied
  /// After a renewal: the server had restarted and forgotten the lock, and we acquired it again under our token and
  /// fence. It does not count if is_reclaimed_late().
  bool is_reclaimed = false;
  /// Where it is not us: our token was released, a moment ago, by somebody who has it.
  bool is_released = false;

  /// Whether it is our lease that was granted with this fence; 0: not known. Another fence means another lease: ours
  /// ran out, and a late request with our token acquired the lock again.
  bool is_of_lease(std::uint64_t granted_fence) const {
    return holder == Holder::us && (fence == 0 || granted_fence == 0 || fence == granted_fence);
  }

  /// Whether it was reclaimed, and the lease before that, which was to last until `lease_end`, is over by now. Then it
  /// does not count: another may have held the lock meanwhile and been forgotten too. (The model finds two holders.)
  bool is_reclaimed_late(base::Instant lease_end) const { return is_reclaimed && base::BootClock::now() >= lease_end; }
};

/// Why a waiter gets no lock: somebody has released its token.
base::Error released_before();

/// Says that the server had forgotten the lock of this KEY, and that it was reclaimed. server: its name.
void report_reclaimed(const std::string& server, const std::string& key);

}  // namespace rlock::lock
