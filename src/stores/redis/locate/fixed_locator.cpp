#include "stores/redis/locate/fixed_locator.hpp"

#include <utility>

#include "net/resolve.hpp"

namespace rlock::redis {

base::Result<Target> FixedLocator::locate(Reason reason, base::Wait wait) {
  if (reason == Reason::refused) look_up_ = !look_up_;
  if (reason == Reason::demoted) look_up_ = true;  // the name may lead to the new master
  if (found_.addresses.empty() || look_up_) {
    look_up_ = false;  // where that fails, what worked last is tried next
    if (address_.transport == Transport::unix_socket) {
      found_ = {{net::unix_address(address_.path)}};
    } else {
      const auto& endpoint = address_.endpoints.front();
      found_ = {RLOCK_TRY(net::resolve(endpoint, address_.shown_host(), wait)), endpoint.host, address_.tls};
      if (std::exchange(address_.host_may_be_secret, false)) name_ = address_.name();
    }
  }
  return found_;
}

}  // namespace rlock::redis
