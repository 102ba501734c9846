#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "stores/etcd/address.hpp"
#include "stores/zookeeper/address.hpp"

namespace {

const std::string& path_of(const rlock::etcd::Address& address) { return address.prefix; }
const std::string& path_of(const rlock::zookeeper::Address& address) { return address.root; }

// A URL that is taken shows itself as one that is taken again, without its password.
template <class Address>
void check(std::string_view url) {
  const auto address = Address::parse(url);
  if (!address) return;
  const auto again = Address::parse(address->display());
  if (!again || again->password || again->endpoints != address->endpoints || again->socket != address->socket ||
      again->user != address->user || path_of(*again) != path_of(*address) || again->tls != address->tls) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view url(reinterpret_cast<const char*>(data), size);
  check<rlock::etcd::Address>(url);
  check<rlock::zookeeper::Address>(url);
  return 0;
}
