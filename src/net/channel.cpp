#include "net/channel.hpp"

#include <sched.h>

namespace rlock::net {

using base::ErrorCode;
using base::fail;
using base::Readiness;
using base::Result;
using base::Wait;

namespace {

// Most answers of a server on this machine come within it, and to sleep and be woken takes half as long again.
constexpr std::chrono::microseconds max_spin{150};

}  // namespace

Result<Channel> Channel::open(std::unique_ptr<Stream> stream, std::string name, Place place, Wait wait) {
  Channel channel(std::move(stream), std::move(name), place);
  while (true) {
    const auto wants = channel.stream_->handshake();
    if (!wants) {
      const auto& error = wants.error();
      const auto advice = error.code == ErrorCode::unreachable ? channel.stream_->advice() : "";
      return fail(error.code, channel.name_ + ": " + error.message + advice);
    }
    if (*wants == 0) return channel;
    if (auto ready = channel.wait_for(*wants, wait); !ready) {
      auto error = std::move(ready).error();
      if (error.code == ErrorCode::unreachable) error.message += channel.stream_->advice();
      return std::unexpected(std::move(error));
    }
  }
}

Result<void> Channel::wait_for(short events, Wait wait) const {
  pollfd ready{fd(), events, 0};
  switch (wait({&ready, 1})) {
    case Readiness::interrupted:
      return base::interrupted();
    case Readiness::timed_out:
      return fail(ErrorCode::unreachable, "no answer from " + name_ + " in time");
    case Readiness::ready:
      break;
  }
  // A peer whose bytes trickle in keeps the descriptor ready: it must not carry us past the end of the wait.
  if (wait.is_over()) return fail(ErrorCode::unreachable, "no answer from " + name_ + " in time");
  return {};
}

base::Error Channel::lost(const base::Error& error) const {
  const bool may_be_misled = error.code == ErrorCode::unreachable && !has_answered_;
  return {error.code, name_ + ": " + error.message + (may_be_misled ? stream_->advice() : "")};
}

Result<void> Channel::send(Wait wait) {
  std::size_t done = 0;
  while (done < unsent_.size()) {
    const auto written = stream_->write({unsent_.data() + done, unsent_.size() - done});
    if (!written) return std::unexpected(lost(written.error()));
    done += written->bytes;
    if (written->bytes > 0) continue;
    RLOCK_TRY(wait_for(written->wants, wait));
  }
  unsent_.clear();
  has_spun_ = false;
  return {};
}

Result<Transfer> Channel::read(std::span<char> into) {
  auto received = stream_->read(into);
  if (!received) return std::unexpected(lost(received.error()));
  if (received->bytes > 0) has_answered_ = true;
  return received;
}

// Looks for bytes for a moment, where somebody waits for them and they are soon there. It yields before each look: the
// server may need this very core. No more once it has found some: nothing interrupts it, and a server may go on and on.
Result<Transfer> Channel::spin(std::span<char> into, Wait wait) {
  Transfer received;
  if (has_spun_ || place_ != Place::this_machine || !wait.poller().may_spin()) return received;
  wait = wait.at_most(base::BootClock::now() + max_spin);
  while (received.bytes == 0 && !wait.is_over()) {
    ::sched_yield();
    received = RLOCK_TRY(read(into));
  }
  has_spun_ = received.bytes > 0;
  return received;
}

Result<std::size_t> Channel::receive(std::span<char> into, Wait wait) {
  short wants = POLLIN;
  while (true) {
    auto received = RLOCK_TRY(spin(into, wait));
    if (received.bytes == 0) {
      if (!stream_->has_buffered()) RLOCK_TRY(wait_for(wants, wait));
      received = RLOCK_TRY(read(into));
    }
    if (received.bytes > 0) return received.bytes;
    wants = received.wants;
  }
}

}  // namespace rlock::net
