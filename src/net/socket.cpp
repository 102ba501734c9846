#include "net/socket.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/wait/late_requests.hpp"

namespace rlock::net {
namespace {

using base::ErrorCode;
using base::fail;
using base::Readiness;
using base::Wait;

// A peer that vanished without a word is noticed by the kernel within about user_timeout, whatever we do.
void set_tcp_options(int fd) {
  const auto set = [fd](int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 3);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(base::user_timeout.count()));
}

base::Result<base::Fd> connect_one(const SocketAddress& address, const std::string& name, Wait wait) {
  const auto family = address.storage.ss_family;
  base::Fd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return base::fail_errno(ErrorCode::unreachable, "socket");
  if (family != AF_UNIX) set_tcp_options(fd.get());
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0) {
    if (errno == EAGAIN && family == AF_UNIX) {
      // The server's backlog is full, as when many connect at once; there is nothing to poll for.
      if (wait.is_over()) return fail(ErrorCode::unreachable, name + ": its backlog is full");
      const auto pause = wait.at_most(base::BootClock::now() + std::chrono::milliseconds(2));
      if (pause({}) == Readiness::interrupted) return base::interrupted();
      continue;
    }
    if (errno != EINPROGRESS) return base::fail_errno(ErrorCode::unreachable, "cannot connect to " + name);
    pollfd writable{fd.get(), POLLOUT, 0};
    switch (wait({&writable, 1})) {
      case Readiness::interrupted:
        return base::interrupted();
      case Readiness::timed_out:
        return fail(ErrorCode::unreachable, "cannot connect to " + name + ": timed out");
      case Readiness::ready:
        break;
    }
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    // A server that has closed the connection already: whoever speaks to it knows best what that means.
    if (error == 0 || error == EPIPE || error == ECONNRESET) break;
    errno = error;
    return base::fail_errno(ErrorCode::unreachable, "cannot connect to " + name);
  }
  return fd;
}

}  // namespace

SocketAddress unix_address(const std::string& path) {
  SocketAddress result;
  auto* address = reinterpret_cast<sockaddr_un*>(&result.storage);
  address->sun_family = AF_UNIX;
  path.copy(address->sun_path, sizeof address->sun_path - 1);
  result.size = sizeof *address;
  return result;
}

bool is_of_this_machine(const sockaddr_storage& address) {
  switch (address.ss_family) {
    case AF_UNIX:
      return true;
    case AF_INET:
      return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    case AF_INET6:
      return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
    default:
      return false;
  }
}

std::string peer_of(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  return {reinterpret_cast<const char*>(&address), std::min<std::size_t>(length, sizeof address)};
}

Place place_of(const std::string& peer) {
  sockaddr_storage address{};
  std::memcpy(&address, peer.data(), std::min(peer.size(), sizeof address));
  return is_of_this_machine(address) ? Place::this_machine : Place::elsewhere;
}

void SocketAddress::set_port(std::uint16_t port) {
  // At the same place in both.
  reinterpret_cast<sockaddr_in*>(&storage)->sin_port = htons(port);
}

std::optional<SocketAddress> numeric_address(const std::string& text, std::uint16_t port) {
  SocketAddress result;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
  const auto percent = text.find('%');
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    result.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, text.substr(0, percent).c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    if (percent != std::string::npos) v6->sin6_scope_id = ::if_nametoindex(text.c_str() + percent + 1);
    result.size = sizeof *v6;
  } else {
    return std::nullopt;
  }
  result.set_port(port);
  return result;
}

base::Result<base::Fd> connect(std::span<const SocketAddress> addresses, const std::string& name, Wait wait) {
  base::Result<base::Fd> fd = fail(ErrorCode::unreachable, name + " has no address");
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    fd = connect_one(addresses[i], name, wait.share(static_cast<long>(addresses.size() - i)));
    if (fd || fd.error().code == ErrorCode::interrupted) break;
  }
  return fd;
}

}  // namespace rlock::net
