#include "base/error.hpp"

#include <cerrno>
#include <cstring>

namespace rlock::base {

std::unexpected<Error> fail_errno(ErrorCode code, std::string message) {
  return fail(code, std::move(message) + ": " + std::strerror(errno));
}

}  // namespace rlock::base
