#include "stores/redis/client/connection.hpp"

#include <hiredis/hiredis.h>
#include <sched.h>

#include <array>
#include <new>
#include <utility>

#include "stores/redis/client/reply_reader.hpp"

namespace rlock::redis {

using base::ErrorCode;
using base::fail;
using base::Readiness;
using base::Result;
using base::Wait;

namespace {

// No honest reply of rlock's scripts comes near it: status pages through what it lists.
constexpr std::size_t max_reply = 8U << 20U;
constexpr std::size_t read_size = 4U << 10U;
// Whoever sends without an end must not keep rlock from its signals and deadlines (R37 of tests/PROOFS.md).
constexpr std::size_t max_drained = 64U << 10U;

// Most answers of a server on this machine come within it, and to sleep and be woken takes half as long again.
constexpr std::chrono::microseconds max_spin{150};

}  // namespace

void Connection::Free::operator()(redisReader* reader) const { ::redisReaderFree(reader); }

Connection::Connection(std::unique_ptr<net::Stream> stream, std::string name, Place place)
    : stream_(std::move(stream)),
      reader_(::redisReaderCreateWithFunctions(reply_functions())),
      name_(std::move(name)),
      place_(place) {
  if (!reader_) throw std::bad_alloc();
}

Result<Connection> Connection::open(std::unique_ptr<net::Stream> stream, std::string name, Place place, Wait wait) {
  Connection connection(std::move(stream), std::move(name), place);
  while (true) {
    const auto wants = connection.stream_->handshake();
    if (!wants) return base::fail(wants.error().code, connection.name_ + ": " + wants.error().message);
    if (*wants == 0) return connection;
    if (auto ready = connection.wait_for(*wants, wait); !ready) {
      auto error = std::move(ready).error();
      if (error.code == ErrorCode::unreachable)
        error.message += "; if that port is one without TLS, write redis:// for rediss:// in the URL";
      return std::unexpected(std::move(error));
    }
  }
}

// Not by redisFormatCommandArgv: printf for each length was a tenth of the instructions of a short job.
void Connection::append(const Command& command) {
  const auto append_line = [this](char type, std::size_t number) {
    unsent_ += type;
    unsent_ += std::to_string(number);
    unsent_ += "\r\n";
  };
  append_line('*', command.size());
  for (const auto& argument : command) {
    append_line('$', argument.size());
    unsent_ += argument;
    unsent_ += "\r\n";
  }
}

Result<void> Connection::wait_for(short events, Wait wait) const {
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

base::Error Connection::lost(const base::Error& error) const {
  return {error.code, name_ + ": " + error.message + std::string(has_answered_ ? "" : stream_->advice())};
}

Result<void> Connection::send(Wait wait) {
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

Result<net::Transfer> Connection::receive() {
  std::array<char, read_size> bytes;
  auto received = stream_->read(bytes);
  if (!received) return std::unexpected(lost(received.error()));
  if (received->bytes > 0) has_answered_ = true;
  if (received->bytes > 0) ::redisReaderFeed(reader_.get(), bytes.data(), received->bytes);
  unparsed_ += received->bytes;
  if (unparsed_ > max_reply) return fail(ErrorCode::unreachable, name_ + " sends a reply that is too long");
  return received;
}

// A complete reply, or none when more bytes are needed.
Result<std::optional<Reply>> Connection::parse() {
  void* object = nullptr;
  if (::redisReaderGetReply(reader_.get(), &object) != REDIS_OK) {
    return fail(ErrorCode::unreachable, name_ + " does not speak RESP: " + reader_->errstr);
  }
  if (object == nullptr) return std::nullopt;
  unparsed_ = 0;
  const std::unique_ptr<Reply> reply(static_cast<Reply*>(object));
  return std::move(*reply);
}

// Looks for bytes for a moment, where somebody waits for them and they are soon there. It yields before each look: the
// server may need this very core. No more once it has found some: nothing interrupts it, and a server may go on and on.
Result<net::Transfer> Connection::spin(Wait wait) {
  net::Transfer received;
  if (has_spun_ || place_ != Place::this_machine || !wait.poller().may_spin()) return received;
  wait = wait.at_most(base::BootClock::now() + max_spin);
  while (received.bytes == 0 && !wait.is_over()) {
    ::sched_yield();
    received = RLOCK_TRY(receive());
  }
  has_spun_ = received.bytes > 0;
  return received;
}

Result<Reply> Connection::next(Wait wait) {
  // At first what is there: in a flight the bytes of the next reply came with those of the one before.
  short wants = POLLIN;
  while (true) {
    auto reply = RLOCK_TRY(parse());
    if (reply) return std::move(*reply);
    auto received = RLOCK_TRY(spin(wait));
    if (received.bytes == 0) {
      if (!stream_->has_buffered()) RLOCK_TRY(wait_for(wants, wait));
      received = RLOCK_TRY(receive());
    }
    wants = received.bytes > 0 ? static_cast<short>(POLLIN) : received.wants;
  }
}

std::optional<base::Error> Connection::last_words() {
  if (const auto received = receive(); !received) {
    if (received.error().code == ErrorCode::refused) return received.error();
    return std::nullopt;
  }
  const auto reply = parse();
  if (!reply || !*reply || !(*reply)->is_error()) return std::nullopt;
  return error_of(**reply, name_);
}

Result<std::vector<Reply>> Connection::drain() {
  std::vector<Reply> replies;
  for (std::size_t drained = 0;;) {
    const auto received = RLOCK_TRY(receive());
    while (true) {
      auto reply = RLOCK_TRY(parse());
      if (!reply) break;
      replies.push_back(std::move(*reply));
    }
    drained += received.bytes;
    // Whatever else is on its way makes the descriptor readable again; not so what the stream has read already.
    const bool is_enough = received.bytes < read_size || drained >= max_drained;
    if (is_enough && !stream_->has_buffered()) return replies;
  }
}

std::string hiredis_version() {
  return std::to_string(HIREDIS_MAJOR) + "." + std::to_string(HIREDIS_MINOR) + "." + std::to_string(HIREDIS_PATCH);
}

}  // namespace rlock::redis
