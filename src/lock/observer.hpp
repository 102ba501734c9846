#pragma once

#include "base/error.hpp"
#include "lock/backend.hpp"

namespace rlock::lock {

/// Is told what a waiter learns from the answers to its requests, in the thread that waits. Nothing is asked for it, so
/// it costs the server nothing.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Somebody else has the lock of this request. server: its name for messages.
  virtual void busy(const Request& request, const std::string& server, const Busy& busy) = 0;
  /// A try has failed, and is repeated. since: when the first one that failed began.
  virtual void unserved(const Request& request, const std::string& server, const base::Error& error,
                        base::Instant since) = 0;
  /// Answers come again. since: as before.
  virtual void served(const Request& request, const std::string& server, base::Instant since) = 0;
};

}  // namespace rlock::lock
