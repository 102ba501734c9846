#include "net/target.hpp"

#include <utility>

namespace rlock::net {

base::Result<std::unique_ptr<Stream>> stream_to(const Target& target, const Schemes& schemes, base::Fd socket) {
  if (!target.tls) return plain_stream(std::move(socket), schemes);
  return tls_stream(std::move(socket), target.host, *target.tls, schemes);
}

}  // namespace rlock::net
