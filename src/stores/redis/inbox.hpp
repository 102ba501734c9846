#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/wait/clock.hpp"
#include "stores/redis/client/reply.hpp"
#include "stores/redis/scripts/names.hpp"

namespace rlock::redis {

/// What one server has pushed.
struct Pushed {
  bool granted = false;     ///< we have been handed the lock; acquire has to confirm it
  bool touched = false;     ///< the lock's key, or that of its holders, was written, deleted, or has expired
  bool flushed = false;     ///< so was everything
  bool queue_lost = false;  ///< a waiter found the queue gone
  bool moved = false;       ///< our channels are now at another node
  std::optional<base::Duration> look_in;  ///< we are among the first of the queue: track, and look in so long
};

/// Takes pushes as they come, and keeps what they say of one lock to one token. What is not about these is dropped, so
/// it takes no more room however many there are.
class Inbox {
 public:
  Inbox(const Names& names, const std::string& token);

  void hear(const Reply& push);
  /// What was said since the last time.
  Pushed take() { return std::exchange(heard_, {}); }
  bool is_of(const Names& names, const std::string& token) const {
    return names.lock == lock_ && names.channel(token) == channel_;
  }

 private:
  std::string lock_;
  std::string holders_;
  std::string channel_;
  std::string channel_of_all_;
  Pushed heard_;
};

}  // namespace rlock::redis
