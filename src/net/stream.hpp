#pragma once

#include <poll.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/fd.hpp"

namespace rlock::net {

/// What came of one attempt to move bytes.
struct Transfer {
  std::size_t bytes = 0;  ///< 0: nothing can be moved now
  short wants = 0;        ///< then: the events of poll(2) to wait for before the next attempt
};

/// A connected stream of bytes over a non-blocking descriptor. Its functions never wait: if nothing can be moved now,
/// they return the events to wait for (with TLS, a read may have to wait until it can write). A failure (unreachable)
/// is final.
class Stream {
 public:
  virtual ~Stream() = default;

  /// The handshake before the first byte, if there is one. Returns the events to wait for, 0 when it is complete. Fails
  /// with refused where the peer is not whom it should be.
  virtual base::Result<short> handshake() = 0;
  /// The end of the stream is a failure.
  virtual base::Result<Transfer> read(std::span<char> into) = 0;
  virtual base::Result<Transfer> write(std::span<const char> bytes) = 0;
  /// Whether bytes wait to be read that will not make the descriptor readable.
  virtual bool has_buffered() const = 0;
  virtual int fd() const = 0;
  /// What may be wrong where it ends, or is silent, before the server has answered anything; empty, or begins with ";
  /// ".
  virtual std::string advice() const { return ""; }
};

/// How URLs of a kind of server begin, up to ://, for messages.
struct Schemes {
  std::string_view plain;
  std::string_view tls;
};

/// The bytes as they are.
std::unique_ptr<Stream> plain_stream(base::Fd fd, const Schemes& schemes);

}  // namespace rlock::net
