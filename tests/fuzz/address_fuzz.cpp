#include <cstdint>
#include <cstdlib>

#include "base/text/text.hpp"
#include "stores/redis/locate/address.hpp"

// A URL that is taken shows itself as one that is taken again, without its password; printable() leaves
// nothing that steers a terminal.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using rlock::redis::Address;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const char c : rlock::base::printable(text)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) std::abort();
  }
  const auto address = Address::parse(text);
  if (!address) return 0;
  const auto shown = address->display();
  std::string rest = address->path + " " + address->user + ":@ " + address->master;
  for (const auto& endpoint : address->endpoints) rest += " " + endpoint.host;
  if (address->password && address->password->size() > 12 && shown.find(*address->password) != shown.npos &&
      rest.find(*address->password) == rest.npos) {
    std::abort();
  }
  const auto again = Address::parse(shown);
  if (!again || again->endpoints != address->endpoints || again->path != address->path ||
      again->user != address->user || again->master != address->master || again->database != address->database) {
    std::abort();
  }
  return 0;
}
