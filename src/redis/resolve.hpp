#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <vector>

#include "base/poller.hpp"
#include "redis/address.hpp"

namespace rlock::redis {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

/// Every socket address of a server, in the order to try them. A name is looked up on a thread of its
/// own, because the resolver can be neither bounded nor broken off: when `until` comes or the poller is
/// interrupted, that thread is left to itself. Unix paths, numeric hosts and localhost need no look-up.
base::Result<std::vector<SocketAddress>> resolve(const Address& address, base::Instant until, base::Poller& poller);

}  // namespace rlock::redis
