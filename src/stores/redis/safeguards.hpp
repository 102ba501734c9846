#pragma once

#include "base/wait/clock.hpp"
#include "stores/quorum/voter.hpp"

namespace rlock::redis {

/// What keeps a server that forgets its locks from giving one of them to two holders.
struct Safeguards {
  base::Duration grace{};  ///< see stores::Settings
  int replicas = 0;        ///< likewise
  bool is_vote = false;    ///< the server is one of several that vote

  /// For how long after its start the server keeps a free lock for its holder; zero: not at all. ttl: of the request.
  base::Duration grace_for(base::Duration ttl) const {
    return is_vote ? quorum::voteless_after_start(grace, ttl) : grace;
  }
};

}  // namespace rlock::redis
