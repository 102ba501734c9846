#pragma once

#include <vector>

#include "net/socket.hpp"

namespace rlock::net {

/// Whether this machine looks names up by more than files and DNS (mDNS, its own name, a directory): by modules that
/// only its own libc can load.
bool knows_more_than_dns();

/// The addresses of a name as the machine's own libc has it: one child runs `getent ahosts`. It has no descriptor,
/// signal disposition or environment of ours, and is killed and reaped where it is late or the wait is interrupted.
/// Fails with unreachable at the end of the wait, or when nobody knows the name, which the message does not repeat.
base::Result<std::vector<SocketAddress>> ask_getent(const std::string& host, std::uint16_t port, base::Wait wait);

}  // namespace rlock::net
