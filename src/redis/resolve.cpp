#include "redis/resolve.hpp"

#include "redis/dns.hpp"
#include "redis/getent.hpp"

namespace rlock::redis {
namespace {

using Addresses = std::vector<SocketAddress>;

}  // namespace

base::Result<Addresses> resolve(const Address& address, base::Wait wait) {
  if (address.transport == Transport::unix_socket) return Addresses{unix_address(address.path)};
  if (address.host == "localhost") {  // always the loopback, which nobody need be asked for (RFC 6761)
    return Addresses{*numeric_address("127.0.0.1", address.port), *numeric_address("::1", address.port)};
  }
  if (const auto numeric = numeric_address(address.host, address.port)) return Addresses{*numeric};

  // A silent DNS server leaves time for the others that may know a name.
  const bool has_more = knows_more_than_dns();
  const auto now = base::BootClock::now();
  auto found = ask_dns(address.host, address.port, has_more ? wait.at_most(now + (wait.until() - now) / 2) : wait);
  if (found || !has_more || found.error().code == base::ErrorCode::interrupted) return found;
  return ask_getent(address.host, address.port, wait);
}

}  // namespace rlock::redis
