#include "stores/redis/client/target.hpp"

#include <utility>

namespace rlock::redis {

base::Result<std::unique_ptr<net::Stream>> stream_to(const Target& target, base::Fd socket) {
  if (!target.tls) return net::plain_stream(std::move(socket));
  return net::tls_stream(std::move(socket), target.host, *target.tls);
}

}  // namespace rlock::redis
