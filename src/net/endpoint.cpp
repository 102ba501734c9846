#include "net/endpoint.hpp"

namespace rlock::net {

std::string Endpoint::name() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace rlock::net
