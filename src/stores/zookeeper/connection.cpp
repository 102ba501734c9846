#include "stores/zookeeper/connection.hpp"

#include <array>
#include <utility>

#include "stores/zookeeper/jute.hpp"

namespace rlock::zookeeper {

using base::ErrorCode;
using base::fail;
using base::Readiness;
using base::Result;
using base::Wait;

namespace {

constexpr std::size_t read_size = 16U << 10U;

}  // namespace

Result<Connection> Connection::open(std::unique_ptr<net::Stream> stream, std::string name, Wait wait) {
  Connection connection(std::move(stream), std::move(name));
  while (true) {
    const auto wants = connection.stream_->handshake();
    if (!wants) return fail(wants.error().code, connection.name_ + ": " + wants.error().message);
    if (*wants == 0) return connection;
    RLOCK_TRY(connection.wait_for(*wants, wait));
  }
}

Result<void> Connection::wait_for(short events, Wait wait) const {
  pollfd ready{fd(), events, 0};
  const auto readiness = wait({&ready, 1});
  if (readiness == Readiness::interrupted) return base::interrupted();
  // A peer whose bytes trickle in keeps the descriptor ready: it must not carry us past the end of the wait.
  if (readiness == Readiness::ready && !wait.is_over()) return {};
  return fail(ErrorCode::unreachable, "no answer from " + name_ + " in time");
}

Result<void> Connection::send(std::string_view frames, Wait wait) {
  while (!frames.empty()) {
    const auto written = stream_->write(frames);
    if (!written) return fail(written.error().code, name_ + ": " + written.error().message);
    frames.remove_prefix(written->bytes);
    if (written->bytes == 0) RLOCK_TRY(wait_for(written->wants, wait));
  }
  return {};
}

Result<net::Transfer> Connection::receive() {
  std::array<char, read_size> bytes;
  auto received = stream_->read(bytes);
  if (!received) return fail(received.error().code, name_ + ": " + received.error().message);
  received_.append(bytes.data(), received->bytes);
  return received;
}

Result<std::optional<std::string>> Connection::take() {
  bool is_broken = false;
  auto frame = take_frame(received_, is_broken);
  if (is_broken) return fail(ErrorCode::unreachable, name_ + " does not speak ZooKeeper's protocol");
  return frame;
}

Result<std::string> Connection::next(Wait wait) {
  while (true) {
    auto frame = RLOCK_TRY(take());
    if (frame) return std::move(*frame);
    const auto received = RLOCK_TRY(receive());
    if (received.bytes == 0) RLOCK_TRY(wait_for(received.wants, wait));
  }
}

Result<std::optional<std::string>> Connection::poll() {
  while (true) {
    auto frame = RLOCK_TRY(take());
    if (frame) return frame;
    const auto received = RLOCK_TRY(receive());
    if (received.bytes == 0) return std::nullopt;
  }
}

}  // namespace rlock::zookeeper
