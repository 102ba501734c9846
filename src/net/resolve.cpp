#include "net/resolve.hpp"

#include "net/dns.hpp"
#include "net/getent.hpp"

namespace rlock::net {
namespace {

using Addresses = std::vector<SocketAddress>;

}  // namespace

base::Result<Addresses> resolve(const Endpoint& endpoint, const std::string& shown, base::Wait wait) {
  if (endpoint.host == "localhost") {  // always the loopback, which nobody need be asked for (RFC 6761)
    return Addresses{*numeric_address("127.0.0.1", endpoint.port), *numeric_address("::1", endpoint.port)};
  }
  if (const auto numeric = numeric_address(endpoint.host, endpoint.port)) return Addresses{*numeric};

  // A silent DNS server leaves time for the others that may know a name.
  const bool has_more = knows_more_than_dns();
  auto found = ask_dns(endpoint.host, endpoint.port, has_more ? wait.share(2) : wait);
  if (!found && has_more && found.error().code != base::ErrorCode::interrupted) {
    found = ask_getent(endpoint.host, endpoint.port, wait);
  }
  if (!found && found.error().code != base::ErrorCode::interrupted) {
    found.error().message.insert(0, "cannot resolve " + shown + ": ");
  }
  return found;
}

}  // namespace rlock::net
