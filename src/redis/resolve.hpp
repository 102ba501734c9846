#pragma once

#include <vector>

#include "redis/address.hpp"
#include "redis/socket.hpp"

namespace rlock::redis {

/// Every socket address of a server, in the order to try them. Unix paths, numeric hosts and localhost need no look-up,
/// and cost none. Nothing goes on when it returns: when the wait is over or interrupted, a look-up is broken off. Not
/// by getaddrinfo: it can be neither bounded nor broken off, and in a static binary it loads modules of the machine's
/// libc, and dies where that is another version.
base::Result<std::vector<SocketAddress>> resolve(const Address& address, base::Wait wait);

}  // namespace rlock::redis
