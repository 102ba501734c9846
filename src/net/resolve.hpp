#pragma once

#include <vector>

#include "net/endpoint.hpp"
#include "net/socket.hpp"

namespace rlock::net {

/// Every socket address of a host, in the order to try them. Numeric hosts and localhost need no look-up, and cost
/// none. Nothing goes on in the background: a look-up is cancelled when the wait is over or interrupted. Not
/// getaddrinfo: it can be neither limited nor cancelled, and in a static binary it loads modules of the machine's libc
/// and crashes if that has another version. `shown` stands for the host in messages.
base::Result<std::vector<SocketAddress>> resolve(const Endpoint& endpoint, const std::string& shown, base::Wait wait);

}  // namespace rlock::net
