#pragma once

#include <span>
#include <string>
#include <string_view>
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

  bool has(LeaseId lease) const;
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

/// For Record::session: the leases under which an entry was before, of whomever, so that who removes it can end them.
/// Of many the last ones.
std::string session_of(std::span<const LeaseId> leases);
/// What is not a lease is left out.
std::vector<LeaseId> leases_of(std::string_view session);

}  // namespace rlock::etcd
