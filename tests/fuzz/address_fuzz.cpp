#include <cstdint>
#include <cstdlib>

#include "base/text.hpp"
#include "redis/address.hpp"

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
  if (address->password && address->password->size() > 12 &&
      address->display().find(*address->password) != std::string::npos &&
      address->host.find(*address->password) == std::string::npos &&
      address->path.find(*address->password) == std::string::npos &&
      address->user.find(*address->password) == std::string::npos) {
    std::abort();
  }
  return 0;
}
