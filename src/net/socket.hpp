#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/wait/wait.hpp"

namespace rlock::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  /// Of an IPv4 or IPv6 address.
  void set_port(std::uint16_t port);
};

/// Of a Unix socket. path: at most 107 bytes.
SocketAddress unix_address(const std::string& path);

/// An IPv4 or IPv6 address in its written form, the latter with %INTERFACE where it has one. nullopt for anything else.
std::optional<SocketAddress> numeric_address(const std::string& text, std::uint16_t port);

/// A Unix socket, or an address of the loopback device.
bool is_of_this_machine(const sockaddr_storage& address);

/// Where a server runs, as far as its address tells: over a Unix socket or the loopback device it is on this machine.
enum class Place { this_machine, elsewhere };

/// The raw address that a connected socket leads to, to compare; empty where it is not known.
std::string peer_of(int socket);
/// Of what peer_of() has returned.
Place place_of(const std::string& peer);

/// A connected, non-blocking socket to the first of the addresses that takes one; each is tried for its share of the
/// time left. Fails with unreachable or interrupted; `name` stands for the server in messages.
base::Result<base::Fd> connect(std::span<const SocketAddress> addresses, const std::string& name, base::Wait wait);

}  // namespace rlock::net
