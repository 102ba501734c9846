#pragma once

#include <sys/types.h>

#include <string>

#include "base/error.hpp"
#include "base/wait/poller.hpp"

namespace rlock::redis {

/// The socket of this user's private server, in the one place that no environment changes: /run/rlock-0 for root,
/// /run/lock/rlock-UID for others where all users may make directories in /run/lock, else /tmp/rlock-UID. The directory
/// is made (0700) when missing; one that is not ours alone to write is refused (configuration).
base::Result<std::string> local_socket();

/// Starts a server behind `socket`, which local_socket() returned, unless one answers there already. Many callers may
/// do so at once. The server listens on that socket only, keeps nothing on disk and evicts nothing. It is a daemon: it
/// keeps no descriptor, terminal, working directory or environment of the caller. It holds the BSD lock of its
/// directory for life, so that no second server starts and systemd-tmpfiles does not clean the directory.
base::Result<void> start_local_server(const std::string& socket, base::Poller& poller);

/// One local server, as distinct from a later one at the same path: its locks are in memory only and end with it.
class LocalServer {
 public:
  /// The server whose socket is there now. Call it before connecting: if another server takes its place in between, the
  /// socket and the peer do not match, and the server counts as gone.
  static LocalServer at(const std::string& socket);
  /// A connection to it was made.
  void reached_by(int connection);

  /// Whether the path still leads to its socket, alive or dead. One stat.
  bool is_behind(const std::string& socket) const;
  /// Whether it can certainly not be reached any more: it is dead, or another socket is in its place.
  bool is_gone_from(const std::string& socket) const;

  bool operator==(const LocalServer&) const = default;

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
  pid_t pid_ = 0;
};

}  // namespace rlock::redis
