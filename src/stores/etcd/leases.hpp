#pragma once

#include <vector>

#include "base/wait/clock.hpp"
#include "stores/etcd/requests.hpp"

namespace rlock::etcd {

/// The leases that were asked for, and that may still be there.
class Leases {
 public:
  /// One that is to be revoked: a request without an answer may still make an entry under it.
  void add(LeaseId lease) { asked_.push_back({lease, base::never}); }
  /// Nothing more is made under it: it may be left to end by itself.
  void ends_within(LeaseId lease, base::Duration ttl);

  /// All but this one.
  std::vector<LeaseId> others(LeaseId kept) const;
  /// Whether one of others() has to be revoked.
  bool must_revoke(LeaseId kept) const;
  void clear() { asked_.clear(); }

 private:
  struct Asked {
    LeaseId id = 0;
    base::Instant ends{};  ///< base::never: not known
  };
  std::vector<Asked> asked_;
};

}  // namespace rlock::etcd
