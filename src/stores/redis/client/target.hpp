#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/socket.hpp"
#include "net/stream.hpp"
#include "net/tls.hpp"

namespace rlock::redis {

/// A place to connect to.
struct Target {
  std::vector<net::SocketAddress> addresses;  ///< in the order to try them
  std::string host = {};                      ///< what its certificate has to name
  std::optional<net::TlsSettings> tls = {};   ///< nullopt: without TLS
  std::string node = {};                      ///< HOST:PORT for messages, where it is not the user who named it
};

/// The stream that the target speaks, over a socket that is connected to it. Fails as tls_stream() does.
base::Result<std::unique_ptr<net::Stream>> stream_to(const Target& target, base::Fd socket);

}  // namespace rlock::redis
