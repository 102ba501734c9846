#pragma once

#include <cstdint>
#include <string_view>

#include "base/wait/clock.hpp"
#include "stores/etcd/requests.hpp"

namespace rlock::etcd {

/// A lease for what all users of a cluster leave behind within some time: nobody has to ask for one each time.
struct SharedLease {
  LeaseId id = 0;
  base::Duration ttl{};
};

/// The one for what is to be kept for `remembered` at least. what: others with the same name share it. now_us: of the
/// members' clock; the ids follow from it.
SharedLease shared_lease(std::string_view what, base::Duration remembered, std::int64_t now_us);

}  // namespace rlock::etcd
