#include "redis/target.hpp"

#include <utility>

namespace rlock::redis {

base::Result<std::unique_ptr<Stream>> stream_to(const Target& target, base::Fd socket) {
  if (!target.tls) return plain_stream(std::move(socket));
  return tls_stream(std::move(socket), target.host, *target.tls);
}

}  // namespace rlock::redis
