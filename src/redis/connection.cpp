#include "redis/connection.hpp"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/tcp.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/fd.hpp"
#include "redis/reply_reader.hpp"

namespace rlock::redis {
namespace {

using base::ErrorCode;
using base::fail;
using base::Instant;
using base::Readiness;

// No honest reply of rlock's scripts comes near it: status pages through what it lists.
constexpr std::size_t largest_reply = 8U << 20U;

// A peer that vanished without a word is noticed by the kernel within about 20 s, whatever we do.
void set_tcp_options(int fd) {
  const auto set = [fd](int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 3);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 20'000);
}

base::Result<base::Fd> connect(const SocketAddress& address, const std::string& name, Instant until,
                               base::Poller& poller) {
  const auto family = address.storage.ss_family;
  base::Fd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return base::fail_errno(ErrorCode::unreachable, "socket");
  if (family != AF_UNIX) set_tcp_options(fd.get());
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0) {
    if (errno == EAGAIN && family == AF_UNIX) {
      // The server's backlog is full, as when many connect at once; there is nothing to poll for.
      if (base::BootClock::now() >= until) return fail(ErrorCode::unreachable, name + ": its backlog is full");
      if (poller.wait({}, base::BootClock::now() + std::chrono::milliseconds(2)) == Readiness::interrupted) {
        return fail(ErrorCode::interrupted, "interrupted");
      }
      continue;
    }
    if (errno != EINPROGRESS) return base::fail_errno(ErrorCode::unreachable, "cannot connect to " + name);
    pollfd writable{fd.get(), POLLOUT, 0};
    switch (poller.wait({&writable, 1}, until)) {
      case Readiness::interrupted:
        return fail(ErrorCode::interrupted, "interrupted");
      case Readiness::timed_out:
        return fail(ErrorCode::unreachable, "cannot connect to " + name + ": timed out");
      case Readiness::ready:
        break;
    }
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) break;
    errno = error;
    return base::fail_errno(ErrorCode::unreachable, "cannot connect to " + name);
  }
  return fd;
}

}  // namespace

void Connection::Free::operator()(redisContext* context) const { ::redisFree(context); }

base::Result<Connection> Connection::open(std::span<const SocketAddress> addresses, std::string name, Instant until,
                                          base::Poller& poller) {
  base::Result<base::Fd> fd = fail(ErrorCode::unreachable, name + " has no address");
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto now = base::BootClock::now();
    const auto share = (until - now) / static_cast<long>(addresses.size() - i);
    fd = connect(addresses[i], name, now + share, poller);
    if (fd || fd.error().code == ErrorCode::interrupted) break;
  }
  if (!fd) return std::unexpected(fd.error());

  redisOptions options{};
  options.type = REDIS_CONN_USERFD;
  options.endpoint.fd = fd->get();
  options.options = REDIS_OPT_NONBLOCK;
  redisContext* context = ::redisConnectWithOptions(&options);
  if (context == nullptr) return fail(ErrorCode::internal, "out of memory");
  (void)fd->release();
  context->reader->fn = reply_functions();
  return Connection(context, std::move(name));
}

int Connection::fd() const { return context_->fd; }

void Connection::append(const Command& command) {
  std::vector<const char*> argv;
  std::vector<std::size_t> sizes;
  for (const auto& argument : command) {
    argv.push_back(argument.data());
    sizes.push_back(argument.size());
  }
  ::redisAppendCommandArgv(context_.get(), static_cast<int>(argv.size()), argv.data(), sizes.data());
}

base::Result<void> Connection::wait(short events, Instant until, base::Poller& poller) {
  pollfd ready{fd(), events, 0};
  switch (poller.wait({&ready, 1}, until)) {
    case Readiness::interrupted:
      return fail(ErrorCode::interrupted, "interrupted");
    case Readiness::timed_out:
      return fail(ErrorCode::unreachable, "no answer from " + name_ + " in time");
    case Readiness::ready:
      return {};
  }
  return {};
}

base::Result<void> Connection::send(Instant until, base::Poller& poller) {
  int done = 0;
  while (true) {
    if (::redisBufferWrite(context_.get(), &done) != REDIS_OK) {
      return fail(ErrorCode::unreachable, "lost the connection to " + name_ + ": " + context_->errstr);
    }
    if (done != 0) return {};
    RLOCK_TRY(wait(POLLOUT, until, poller));
  }
}

base::Result<void> Connection::receive() {
  const auto before = context_->reader->len;
  if (::redisBufferRead(context_.get()) != REDIS_OK) {
    return fail(ErrorCode::unreachable, "lost the connection to " + name_ + ": " + context_->errstr);
  }
  unparsed_ += context_->reader->len - before;
  if (unparsed_ > largest_reply) return fail(ErrorCode::unreachable, name_ + " sends a reply without an end");
  return {};
}

// A complete reply, or none when more bytes are needed.
base::Result<std::unique_ptr<Reply>> Connection::parse() {
  void* object = nullptr;
  if (::redisReaderGetReply(context_->reader, &object) != REDIS_OK) {
    return fail(ErrorCode::unreachable, name_ + " does not speak RESP: " + context_->reader->errstr);
  }
  if (object != nullptr) unparsed_ = 0;
  return std::unique_ptr<Reply>(static_cast<Reply*>(object));
}

base::Result<Reply> Connection::next(Instant until, base::Poller& poller) {
  while (true) {
    auto reply = RLOCK_TRY(parse());
    if (reply) return std::move(*reply);
    // Before the read, not after: bytes that trickle in must not carry us past `until`.
    RLOCK_TRY(wait(POLLIN, until, poller));
    if (base::BootClock::now() >= until) return fail(ErrorCode::unreachable, "no answer from " + name_ + " in time");
    RLOCK_TRY(receive());
  }
}

std::optional<Reply> Connection::last_words() {
  // Not through hiredis, which reads no more after an error.
  std::array<char, 512> text{};
  const auto n = ::recv(fd(), text.data(), text.size(), MSG_DONTWAIT);
  if (n <= 0 || ::redisReaderFeed(context_->reader, text.data(), static_cast<std::size_t>(n)) != REDIS_OK) return {};
  auto reply = parse();
  if (!reply || !*reply || !(*reply)->is_error()) return {};
  return std::move(**reply);
}

base::Result<std::vector<Reply>> Connection::drain() {
  std::vector<Reply> replies;
  RLOCK_TRY(receive());
  while (true) {
    auto reply = RLOCK_TRY(parse());
    if (!reply) return replies;
    replies.push_back(std::move(*reply));
  }
}

}  // namespace rlock::redis
