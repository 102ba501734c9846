#pragma once

#include <cstdint>
#include <string>

namespace rlock::net {

/// A TCP port of a host, which is a name or an address.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;

  /// host:port, with brackets around an IPv6 address.
  std::string name() const;
  bool operator==(const Endpoint&) const = default;
};

}  // namespace rlock::net
