#pragma once

#include <vector>

#include "net/socket.hpp"

namespace rlock::net {

/// The addresses of a name, as /etc/hosts and the servers in /etc/resolv.conf have it, in the order to try them.
/// Without a thread, and without a module of the machine's libc. Fails with unreachable at the end of the wait, or when
/// nobody knows it; the message does not name it.
base::Result<std::vector<SocketAddress>> ask_dns(const std::string& host, std::uint16_t port, base::Wait wait);

/// Of the c-ares inside: 1.34.5.
std::string c_ares_version();

}  // namespace rlock::net
