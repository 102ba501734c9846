#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace rlock::net {

/// A TCP port of a host, which is a name or an address.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;

  /// host:port, with brackets around an IPv6 address.
  std::string name() const;
  bool operator==(const Endpoint&) const = default;
};

/// Reads HOST, HOST:PORT, [IPV6] or [IPV6]:PORT. A failure (usage) goes on behind "the URL", and repeats nothing.
base::Result<Endpoint> read_endpoint(std::string_view text, std::uint16_t default_port);

/// Reads several with commas between them, of which none is the same as another. Fails likewise.
base::Result<std::vector<Endpoint>> read_endpoints(std::string_view text, std::uint16_t default_port);

/// With commas between them.
std::string text_of(std::span<const Endpoint> endpoints);

/// The host of the first of them that is not of this machine; empty: all are.
std::string first_elsewhere(std::span<const Endpoint> endpoints);

/// Whether both name the same server, which may be written in capitals too, and an IPv6 address with or without its
/// zeros.
bool is_same(const Endpoint& one, const Endpoint& other);

}  // namespace rlock::net
