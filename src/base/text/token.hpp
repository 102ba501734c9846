#pragma once

#include <string>

#include "base/error.hpp"

namespace rlock::base {

/// 128 random bits from getrandom(2), as 32 hex digits.
Result<std::string> random_token();

}  // namespace rlock::base
