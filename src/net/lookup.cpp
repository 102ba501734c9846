#include "net/lookup.hpp"

#include "net/resolve.hpp"

namespace rlock::net {

base::Result<std::vector<SocketAddress>> Lookup::addresses(base::Wait wait) {
  // Where the look-up fails, what worked last is tried next.
  if (std::exchange(is_due_, false) || found_.empty()) found_ = RLOCK_TRY(resolve(endpoint_, shown_, wait));
  return found_;
}

}  // namespace rlock::net
