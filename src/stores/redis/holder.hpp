#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lock/backend.hpp"
#include "stores/redis/protocol.hpp"

namespace rlock::redis {

/// A lease that one server keeps: its last renewal, whether the server tells of changes of the lock, and the reclaim
/// after a restart.
class Holder {
 public:
  explicit Holder(Protocol& protocol) : protocol_(protocol) {}

  /// From here on this server keeps our lock: another server in its place would not know it.
  void held(lock::Ownership ownership);
  /// See lock::Backend::renew; is_reclaimed is not set, see take_reclaimed().
  base::Result<lock::Ownership> renew(const lock::Request& request, lock::Watch watch, base::Wait wait);
  /// Before a release: a server that restarted while the command ended may have forgotten the lock. If it can be
  /// reclaimed, nobody has had it since, and it was not lost.
  void reclaim_if_forgotten(const lock::Request& request, base::Wait wait);
  /// Whether a reclaim was sent, and no renewal has found us since.
  bool may_reclaim() const { return reclaims_; }
  /// Whether the renewal that has just found us found what a reclaim has acquired.
  bool take_reclaimed() { return std::exchange(reclaims_, false); }

 private:
  base::Result<lock::Ownership> ask(const lock::Request& request, lock::Watch watch, base::Wait wait);
  base::Result<lock::Ownership> reclaim(const lock::Request& request, base::Wait wait, lock::Ownership::Holder others);

  Protocol& protocol_;
  std::optional<lock::Ownership> renewed_;  ///< the last renewal that found us, before the first one the grant
  std::uint64_t renewed_on_ = 0;            ///< the connection of that
  std::string renewed_at_;                  ///< its peer
  bool reclaims_ = false;
  std::uint64_t watches_on_ = 0;  ///< the connection on which the server was asked to tell of changes; 0: none
  bool watch_broke_ = false;      ///< the last try to ask for that broke the connection
};

}  // namespace rlock::redis
