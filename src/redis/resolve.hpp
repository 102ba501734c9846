#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/poller.hpp"
#include "redis/address.hpp"

namespace rlock::redis {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  void set_port(std::uint16_t port);
};

/// An IPv4 or IPv6 address in its written form, the latter with %INTERFACE where it has one. nullopt for anything else.
std::optional<SocketAddress> numeric_address(const std::string& text, std::uint16_t port);

/// Every socket address of a server, in the order to try them. Unix paths, numeric hosts and localhost need no look-up,
/// and cost none. Nothing goes on when it returns: at `until`, or when the poller is interrupted, a look-up is broken
/// off. Not by getaddrinfo: it can be neither bounded nor broken off, and in a static binary it loads modules of the
/// machine's libc, and dies where that is another version.
base::Result<std::vector<SocketAddress>> resolve(const Address& address, base::Instant until, base::Poller& poller);

}  // namespace rlock::redis
