#pragma once

#include "net/http.hpp"
#include "stores/common/members.hpp"

namespace rlock::etcd {

/// A connection to the member that is asked. One that cannot be connected to is passed over, and the next is asked from
/// then on; each has its share of the wait. Fails with unreachable, refused (TLS), configuration or interrupted.
base::Result<net::Http> connect_any(stores::Members& members, base::Wait wait);

}  // namespace rlock::etcd
