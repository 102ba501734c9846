#include "stores/redis/locate/fixed_locator.hpp"

#include <utility>

namespace rlock::redis {

base::Result<net::Target> FixedLocator::locate(Reason reason, base::Wait wait) {
  if (address_.transport == Transport::unix_socket) return net::Target{{net::unix_address(address_.path)}};
  if (reason == Reason::refused) lookup_.refused();
  if (reason == Reason::demoted) lookup_.moved();  // the name may lead to the new master
  auto addresses = RLOCK_TRY(lookup_.addresses(wait));
  if (std::exchange(address_.host_may_be_secret, false)) name_ = address_.name();
  return net::Target{std::move(addresses), lookup_.endpoint().host, address_.tls};
}

}  // namespace rlock::redis
