#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lock/inspection.hpp"
#include "stores/redis/scripts/script_runner.hpp"

namespace rlock::redis {

/// What status wants to know of one server: see Backend::inspect and Backend::list. Neither writes anything.

base::Result<std::vector<lock::Inspection>> inspect(ScriptRunner& server, std::span<const std::string> wire_keys,
                                                    std::int64_t max_waiters, base::Wait wait);

base::Result<std::vector<std::string>> list(Session& server, const std::string& prefix, base::Wait wait);

}  // namespace rlock::redis
