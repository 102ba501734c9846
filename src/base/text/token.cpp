#include "base/text/token.hpp"

#include <sys/random.h>

#include <array>

#include "base/text/text.hpp"

namespace rlock::base {

Result<std::string> random_token() {
  std::array<unsigned char, 16> bytes{};
  // Requests of up to 256 bytes are never cut short once the pool is up.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail_errno(ErrorCode::internal, "getrandom");
  }
  std::string token;
  for (auto byte : bytes) append_hex(token, byte);
  return token;
}

}  // namespace rlock::base
