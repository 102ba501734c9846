#include "redis/resolve.hpp"

#include <netdb.h>
#include <sys/eventfd.h>
#include <sys/un.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <thread>

#include "base/fd.hpp"

namespace rlock::redis {
namespace {

using base::ErrorCode;
using base::fail;
using Addresses = std::vector<SocketAddress>;

void append(const addrinfo* list, Addresses& result) {
  for (; list != nullptr; list = list->ai_next) {
    auto& address = result.emplace_back();
    std::memcpy(&address.storage, list->ai_addr, list->ai_addrlen);
    address.size = list->ai_addrlen;
  }
}

// Appends to result; returns what getaddrinfo returns.
int look_up(const std::string& host, std::uint16_t port, int flags, Addresses& result) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (status == 0) {
    append(list, result);
    ::freeaddrinfo(list);
  }
  return status;
}

// Shared with the thread that looks a name up, which may outlive the wait for it.
struct Lookup {
  std::string host;
  std::uint16_t port = 0;
  int status = 0;
  Addresses addresses;
  std::atomic<bool> done = false;
  base::Fd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

void start(const std::shared_ptr<Lookup>& lookup) {
  // Signals belong to the main thread; a thread inherits the mask of the one that makes it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([lookup] {
    lookup->status = look_up(lookup->host, lookup->port, 0, lookup->addresses);
    lookup->done = true;
    const std::uint64_t one = 1;
    (void)!::write(lookup->wake.get(), &one, sizeof one);
  }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

base::Result<Addresses> resolve(const Address& address, base::Instant until, base::Poller& poller) {
  if (address.transport == Transport::unix_socket) {
    SocketAddress result;
    auto* un = reinterpret_cast<sockaddr_un*>(&result.storage);
    un->sun_family = AF_UNIX;
    address.path.copy(un->sun_path, sizeof un->sun_path - 1);
    result.size = sizeof *un;
    return Addresses{result};
  }

  Addresses numeric;
  if (address.host == "localhost") {  // always the loopback, which nobody need be asked for (RFC 6761)
    look_up("127.0.0.1", address.port, AI_NUMERICHOST, numeric);
    look_up("::1", address.port, AI_NUMERICHOST, numeric);
    return numeric;
  }
  if (look_up(address.host, address.port, AI_NUMERICHOST, numeric) == 0) return numeric;

  auto lookup = std::make_shared<Lookup>();
  lookup->host = address.host;
  lookup->port = address.port;
  start(lookup);
  pollfd done{lookup->wake.get(), POLLIN, 0};
  switch (poller.wait({&done, 1}, until)) {
    case base::Readiness::interrupted:
      return fail(ErrorCode::interrupted, "interrupted");
    case base::Readiness::timed_out:
      return fail(ErrorCode::unreachable, "no answer from the resolver for " + address.host);
    case base::Readiness::ready:
      break;
  }
  lookup->done.wait(false);  // set before the wake-up; reading it makes what the thread wrote ours
  if (lookup->status != 0) {
    return fail(ErrorCode::unreachable, "cannot resolve " + address.host + ": " + ::gai_strerror(lookup->status));
  }
  return lookup->addresses;
}

}  // namespace rlock::redis
