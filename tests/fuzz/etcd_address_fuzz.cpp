#include <cstdint>
#include <cstdlib>

#include "stores/etcd/address.hpp"

// A URL that is taken shows itself as one that is taken again, without its password.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using rlock::etcd::Address;
  const auto address = Address::parse({reinterpret_cast<const char*>(data), size});
  if (!address) return 0;
  const auto shown = address->display();
  const auto again = Address::parse(shown);
  if (!again || again->password || again->endpoints != address->endpoints || again->socket != address->socket ||
      again->user != address->user || again->prefix != address->prefix || again->tls != address->tls) {
    std::abort();
  }
  return 0;
}
