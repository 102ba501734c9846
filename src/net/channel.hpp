#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/wait/wait.hpp"
#include "net/socket.hpp"
#include "net/stream.hpp"

namespace rlock::net {

/// A stream with the waiting for it, which is absolute: a Wait ends when it says, however the bytes trickle in (R4 of
/// tests/PROOFS.md). What is in the bytes, others know. Any failure leaves the channel unusable: drop it.
class Channel {
 public:
  static constexpr std::size_t read_size = 4U << 10U;

  /// Does the handshake of the stream. `name` stands for the server in messages.
  static base::Result<Channel> open(std::unique_ptr<Stream> stream, std::string name, Place place, base::Wait wait);

  /// Puts bytes behind those not yet sent.
  void append(std::string_view bytes) { unsent_ += bytes; }
  /// Sends all that was appended.
  base::Result<void> send(base::Wait wait);
  /// Waits for bytes, and returns how many have come: at least one.
  base::Result<std::size_t> receive(std::span<char> into, base::Wait wait);
  /// Takes the bytes that have come, without waiting: there may be none.
  base::Result<Transfer> read(std::span<char> into);

  /// Reads what has come without waiting, and hands it on in parts: `take` is Result<void>(std::string_view). No more
  /// than some 64 kB, so that whoever never stops sending keeps nobody from signals and deadlines (R37 of
  /// tests/PROOFS.md); what is left makes the descriptor readable again.
  template <class Take>
  base::Result<void> drain(Take take);

  int fd() const { return stream_->fd(); }
  const std::string& name() const { return name_; }

 private:
  static constexpr std::size_t max_drained = 64U << 10U;

  Channel(std::unique_ptr<Stream> stream, std::string name, Place place)
      : stream_(std::move(stream)), name_(std::move(name)), place_(place) {}
  base::Result<void> wait_for(short events, base::Wait wait) const;
  base::Result<Transfer> spin(std::span<char> into, base::Wait wait);
  base::Error lost(const base::Error& error) const;

  std::unique_ptr<Stream> stream_;
  std::string name_;
  Place place_;
  std::string unsent_;
  bool has_answered_ = false;
  bool has_spun_ = false;  ///< with success, since the last send
};

template <class Take>
base::Result<void> Channel::drain(Take take) {
  for (std::size_t drained = 0;;) {
    std::array<char, read_size> bytes;
    const auto received = RLOCK_TRY(read(bytes));
    RLOCK_TRY(take(std::string_view(bytes.data(), received.bytes)));
    drained += received.bytes;
    // Whatever else is on its way makes the descriptor readable again; not so what the stream has read already.
    const bool is_enough = received.bytes < read_size || drained >= max_drained;
    if (is_enough && !stream_->has_buffered()) return {};
  }
}

}  // namespace rlock::net
