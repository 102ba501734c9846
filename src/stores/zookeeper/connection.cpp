#include "stores/zookeeper/connection.hpp"

#include <algorithm>
#include <array>

#include "stores/zookeeper/jute.hpp"

namespace rlock::zookeeper {

using base::Result;
using base::Wait;

namespace {

// A whole record of TLS: nothing of it is left behind in the stream.
constexpr std::size_t read_size = 16U << 10U;

}  // namespace

Result<void> Connection::send(std::string_view frames, Wait wait) {
  channel_.append(frames);
  return channel_.send(wait);
}

// What of it has come is dropped, so that it takes no memory, and those behind it are read as ever.
std::optional<std::string> Connection::pass_over() {
  const auto count = std::min(to_pass_over_, received_.size());
  received_.erase(0, count);
  to_pass_over_ -= count;
  return to_pass_over_ == 0 ? std::exchange(instead_, std::nullopt) : std::nullopt;
}

Result<std::optional<std::string>> Connection::take() {
  if (instead_) return pass_over();
  bool is_broken = false;
  auto frame = take_frame(received_, is_broken);
  if (!is_broken) return frame;
  is_foreign_ = !is_too_long(received_);
  if (is_foreign_) {
    return base::fail(base::ErrorCode::unreachable, channel_.name() + " does not speak ZooKeeper's protocol");
  }
  instead_ = in_place_of_too_long(received_, to_pass_over_);
  return instead_ ? pass_over() : std::nullopt;
}

Result<std::string> Connection::next(Wait wait) {
  while (true) {
    auto frame = RLOCK_TRY(take());
    if (frame) return std::move(*frame);
    std::array<char, read_size> bytes;
    const auto count = RLOCK_TRY(channel_.receive(bytes, wait));
    received_.append(bytes.data(), count);
  }
}

Result<std::optional<std::string>> Connection::poll() {
  while (true) {
    auto frame = RLOCK_TRY(take());
    if (frame) return frame;
    std::array<char, read_size> bytes;
    const auto received = RLOCK_TRY(channel_.read(bytes));
    if (received.bytes == 0) return std::nullopt;
    received_.append(bytes.data(), received.bytes);
  }
}

}  // namespace rlock::zookeeper
