#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/wait/wait.hpp"
#include "net/target.hpp"

namespace rlock::redis {

/// Why a Session asks where the server is: what became of the place that it was told last.
enum class Reason {
  first,    ///< nothing was asked before
  broken,   ///< it was connected to, and the connection broke since
  refused,  ///< it could not be connected to
  demoted,  ///< it is a replica, or has become one
  moved,    ///< it said which other place serves the key, and redirected() took that
};

/// Where the server is now. A Session asks before each connection that it makes.
class Locator {
 public:
  virtual ~Locator() = default;

  /// Fails with unreachable, configuration or interrupted.
  virtual base::Result<net::Target> locate(Reason reason, base::Wait wait) = 0;

  /// Called when the last target could not be connected to. True if something was done about it (a server was started):
  /// try again now.
  virtual base::Result<bool> revive(base::Wait) { return false; }
  /// A connection to the last target was made, with this descriptor. Fails with gone where it is not the server that
  /// was pinned.
  virtual base::Result<void> connected(int) { return {}; }
  /// Whether the server is known to be elsewhere by now. Asked before each flight, so it has to be cheap.
  virtual bool has_moved() { return false; }
  /// Called before has_moved() for a connection that stands: time to ask anew, if what tells of moves was lost. May use
  /// a part of the wait.
  virtual void check_watch(base::Wait) {}
  /// Whether a message that has already come says that the server was replaced; asks nobody. For after each reply: that
  /// of a server which was replaced is worth nothing.
  virtual bool has_news() { return false; }
  /// Descriptors that become readable when has_news() may have changed.
  virtual std::vector<int> watch_fds() const { return {}; }
  /// Whether the target is used only if it says that it is a master (ROLE).
  virtual bool wants_master() const { return false; }
  /// Whether the server is of this user and machine alone: it forgets its locks when it ends, and so does whoever holds
  /// one there.
  virtual bool is_private() const { return false; }
  /// Whether the target is a node of a Cluster, of which another one may have the key.
  virtual bool is_of_cluster() const { return false; }
  /// The last target said that the key is served at another place from now on (HOST:PORT, as a Cluster says it). True:
  /// locate() gives that place. False: none of this locator's kind.
  virtual bool redirected(const std::string&) { return false; }
  /// A locator of that place for one request only. nullptr: none of this locator's kind.
  virtual std::unique_ptr<Locator> other(const std::string&) const { return nullptr; }
  /// From here on only the server of the last connection may be used: it keeps a lock, and another server in its place
  /// would not know it. Matters for a server that does not persist its data.
  virtual void pin() {}

  /// For how much longer the server of the last connection has served for less than `grace`, as far as the locator
  /// knows of it (a replica was promoted) and the server's own uptime does not tell.
  virtual base::Duration young_for(base::Duration /*grace*/) const { return {}; }

  /// How long the server of the last connection has to be silent until another one takes its place, as far as the
  /// locator was told.
  virtual std::optional<base::Duration> failover_after() const { return std::nullopt; }

  /// The server for messages; holds no password.
  virtual const std::string& name() const = 0;
};

}  // namespace rlock::redis
