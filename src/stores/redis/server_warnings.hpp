#pragma once

#include <string>
#include <vector>

#include "base/wait/wait.hpp"
#include "stores/redis/client/session.hpp"

namespace rlock::redis {

/// What of a server's settings and state may lose a lock, or let two holders in: a line each, with the line of
/// redis.conf that mends it. What an ACL hides is said in a line too. Fails only where the server does not answer.
base::Result<std::vector<std::string>> server_warnings(Session& session, base::Wait wait);

}  // namespace rlock::redis
