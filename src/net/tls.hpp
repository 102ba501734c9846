#pragma once

#include <memory>
#include <string>

#include "net/stream.hpp"

namespace rlock::net {

/// What the ?query of a URL says of TLS. Paths are of PEM files; empty ones were not given.
struct TlsSettings {
  std::string cacert;  ///< whom to trust; without it whom the machine trusts
  std::string cert;    ///< the certificate to show, with its chain
  std::string key;     ///< its key

  bool operator==(const TlsSettings&) const = default;
};

/// TLS over a connected, non-blocking socket: 1.3, or 1.2 with ECDHE and AES-GCM or ChaCha20; the chain and `host` (a
/// name or an address) verified, SNI sent. Nothing is exchanged before handshake(). Fails with configuration where a
/// file cannot be used. OpenSSL is first touched here, so that a run without TLS does not pay for it.
base::Result<std::unique_ptr<Stream>> tls_stream(base::Fd fd, const std::string& host, const TlsSettings& settings,
                                                 const Schemes& schemes);

/// Of the OpenSSL inside: 3.5.1.
std::string openssl_version();

}  // namespace rlock::net
