#include "stores/redis/client/connection.hpp"

#include <hiredis/hiredis.h>

#include <array>
#include <new>
#include <utility>

#include "stores/redis/client/reply_reader.hpp"

namespace rlock::redis {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Wait;

namespace {

// No honest reply of rlock's scripts comes near it: status pages through what it lists.
constexpr std::size_t max_reply = 8U << 20U;

}  // namespace

void Connection::Free::operator()(redisReader* reader) const { ::redisReaderFree(reader); }

Connection::Connection(net::Channel channel)
    : channel_(std::move(channel)), reader_(::redisReaderCreateWithFunctions(reply_functions())) {
  if (!reader_) throw std::bad_alloc();
}

Result<Connection> Connection::open(std::unique_ptr<net::Stream> stream, std::string name, net::Place place,
                                    Wait wait) {
  auto channel = RLOCK_TRY(net::Channel::open(std::move(stream), std::move(name), place, wait));
  return Connection(std::move(channel));
}

// Not by redisFormatCommandArgv: printf for each length was a tenth of the instructions of a short job.
void Connection::append(const Command& command) {
  const auto append_line = [this](std::string_view type, std::size_t number) {
    channel_.append(type);
    channel_.append(std::to_string(number));
    channel_.append("\r\n");
  };
  append_line("*", command.size());
  for (const auto& argument : command) {
    append_line("$", argument.size());
    channel_.append(argument);
    channel_.append("\r\n");
  }
}

Result<void> Connection::feed(std::string_view bytes) {
  if (!bytes.empty()) ::redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
  unparsed_ += bytes.size();
  if (unparsed_ > max_reply) {
    return fail(ErrorCode::unreachable, channel_.name() + " sends a reply that is too long");
  }
  return {};
}

// A complete reply, or none when more bytes are needed.
Result<std::optional<Reply>> Connection::parse() {
  void* object = nullptr;
  if (::redisReaderGetReply(reader_.get(), &object) != REDIS_OK) {
    return fail(ErrorCode::unreachable, channel_.name() + " does not speak RESP: " + reader_->errstr);
  }
  if (object == nullptr) return std::nullopt;
  unparsed_ = 0;
  const std::unique_ptr<Reply> reply(static_cast<Reply*>(object));
  return std::move(*reply);
}

Result<Reply> Connection::next(Wait wait) {
  // At first what is there: in a flight the bytes of the next reply came with those of the one before.
  while (true) {
    auto reply = RLOCK_TRY(parse());
    if (reply) return std::move(*reply);
    std::array<char, net::Channel::read_size> bytes;
    const auto size = RLOCK_TRY(channel_.receive(bytes, wait));
    RLOCK_TRY(feed({bytes.data(), size}));
  }
}

std::optional<base::Error> Connection::last_words() {
  std::array<char, net::Channel::read_size> bytes;
  const auto received = channel_.read(bytes);
  if (!received) {
    if (received.error().code == ErrorCode::refused) return received.error();
    return std::nullopt;
  }
  if (!feed({bytes.data(), received->bytes})) return std::nullopt;
  const auto reply = parse();
  if (!reply || !*reply || !(*reply)->is_error()) return std::nullopt;
  return error_of(**reply, channel_.name());
}

Result<std::vector<Reply>> Connection::drain() {
  std::vector<Reply> replies;
  const auto take = [&](std::string_view bytes) -> Result<void> {
    RLOCK_TRY(feed(bytes));
    while (true) {
      auto reply = RLOCK_TRY(parse());
      if (!reply) return {};
      replies.push_back(std::move(*reply));
    }
  };
  RLOCK_TRY(channel_.drain(take));
  return replies;
}

std::string hiredis_version() {
  return std::to_string(HIREDIS_MAJOR) + "." + std::to_string(HIREDIS_MINOR) + "." + std::to_string(HIREDIS_PATCH);
}

}  // namespace rlock::redis
