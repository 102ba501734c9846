#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/socket.hpp"
#include "net/stream.hpp"
#include "net/tls.hpp"

namespace rlock::net {

/// A place to connect to.
struct Target {
  std::vector<SocketAddress> addresses;  ///< in the order to try them
  std::string host = {};                 ///< what its certificate has to name
  std::optional<TlsSettings> tls = {};   ///< nullopt: without TLS
  std::string node = {};                 ///< HOST:PORT for messages, where it is not the user who named it
};

/// The stream that the target speaks, over a socket that is connected to it. Fails as tls_stream() does.
base::Result<std::unique_ptr<Stream>> stream_to(const Target& target, const Schemes& schemes, base::Fd socket);

}  // namespace rlock::net
