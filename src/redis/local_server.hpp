#pragma once

#include <string>

#include "base/error.hpp"
#include "base/poller.hpp"

namespace rlock::redis {

/// The socket of this user's private server: in $XDG_RUNTIME_DIR/rlock, else in /run/user/UID/rlock
/// where that is ours, else in /tmp/rlock-UID. The directory is made (0700) when missing; one that is not
/// ours alone to write is refused (configuration).
base::Result<std::string> local_socket();

/// Starts a server behind `socket` unless one answers there by now; safe when many callers do so at
/// once. It listens on that socket only, keeps nothing on disk, evicts nothing, and is nobody's child:
/// it holds no descriptor, terminal, working directory or environment of the caller and lives on.
base::Result<void> start_local_server(const std::string& socket, base::Poller& poller);

}  // namespace rlock::redis
