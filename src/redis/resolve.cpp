#include "redis/resolve.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/un.h>

#include "redis/dns.hpp"
#include "redis/getent.hpp"

namespace rlock::redis {
namespace {

using Addresses = std::vector<SocketAddress>;

SocketAddress unix_address(const std::string& path) {
  SocketAddress result;
  auto* un = reinterpret_cast<sockaddr_un*>(&result.storage);
  un->sun_family = AF_UNIX;
  path.copy(un->sun_path, sizeof un->sun_path - 1);
  result.size = sizeof *un;
  return result;
}

}  // namespace

void SocketAddress::set_port(std::uint16_t port) {
  // At the same place in both.
  reinterpret_cast<sockaddr_in*>(&storage)->sin_port = htons(port);
}

std::optional<SocketAddress> numeric_address(const std::string& text, std::uint16_t port) {
  SocketAddress result;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
  const auto percent = text.find('%');
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    result.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, text.substr(0, percent).c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    if (percent != std::string::npos) v6->sin6_scope_id = ::if_nametoindex(text.c_str() + percent + 1);
    result.size = sizeof *v6;
  } else {
    return std::nullopt;
  }
  result.set_port(port);
  return result;
}

base::Result<Addresses> resolve(const Address& address, base::Instant until, base::Poller& poller) {
  if (address.transport == Transport::unix_socket) return Addresses{unix_address(address.path)};
  if (address.host == "localhost") {  // always the loopback, which nobody need be asked for (RFC 6761)
    return Addresses{*numeric_address("127.0.0.1", address.port), *numeric_address("::1", address.port)};
  }
  if (const auto numeric = numeric_address(address.host, address.port)) return Addresses{*numeric};

  // A silent DNS server leaves time for the others that may know a name.
  const bool has_more = knows_more_than_dns();
  const auto now = base::BootClock::now();
  auto found = ask_dns(address.host, address.port, has_more ? now + (until - now) / 2 : until, poller);
  if (found || !has_more || found.error().code == base::ErrorCode::interrupted) return found;
  return ask_getent(address.host, address.port, until, poller);
}

}  // namespace rlock::redis
