#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lock/inspection.hpp"
#include "lock/script_runner.hpp"

namespace rlock::lock {

/// What status wants to know of one server: see Backend::inspect and Backend::list. Neither writes anything.

base::Result<std::vector<Inspection>> inspect(ScriptRunner& server, std::span<const std::string> wire_keys,
                                              std::int64_t max_waiters, base::Wait wait);

base::Result<std::vector<std::string>> list(redis::Session& server, const std::string& prefix, base::Wait wait);

}  // namespace rlock::lock
