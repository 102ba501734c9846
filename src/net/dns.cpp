#include "net/dns.hpp"

#include <ares.h>

#include <algorithm>
#include <cstring>

namespace rlock::net {
namespace {

using base::ErrorCode;
using base::fail;

// One look-up. Its destructor cancels it and frees everything.
class Lookup {
 public:
  Lookup() = default;
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;
  ~Lookup() {
    if (channel_ != nullptr) ::ares_destroy(channel_);
  }

  // first_try: of the first try at each server; later ones are given more.
  int start(const std::string& host, std::uint16_t port, base::Duration first_try) {
    ares_options options{};
    options.timeout = static_cast<int>(first_try.count());
    options.sock_state_cb = [](void* self, ares_socket_t fd, int readable, int writable) {
      static_cast<Lookup*>(self)->mind(fd, readable, writable);
    };
    options.sock_state_cb_data = this;
    if (const int status = ::ares_init_options(&channel_, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_SOCK_STATE_CB);
        status != ARES_SUCCESS) {
      return status;
    }
    port_ = port;
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    const auto answered = [](void* self, int status, int, ares_addrinfo* found) {
      static_cast<Lookup*>(self)->take(status, found);
    };
    ::ares_getaddrinfo(channel_, host.c_str(), nullptr, &hints, answered, this);
    return ARES_SUCCESS;
  }

  bool is_done() const { return is_done_; }
  int status() const { return status_; }
  std::vector<SocketAddress>& addresses() { return addresses_; }

  // One wait, and what follows from it.
  base::Readiness step(base::Wait wait) {
    timeval room{};
    auto next = wait.until();
    if (const auto* left = ::ares_timeout(channel_, nullptr, &room); left != nullptr) {
      // Rounded up, or the last millisecond would be waited for many times over.
      next = std::min(wait.until(), base::BootClock::now() + std::chrono::seconds(left->tv_sec) +
                                        std::chrono::milliseconds(left->tv_usec / 1000 + 1));
    }
    auto ready = sockets_;  // the look-up changes its sockets while it reads them
    const auto readiness = wait.at_most(next)(ready);
    if (readiness == base::Readiness::interrupted) return readiness;
    ::ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);  // tries that are over
    if (readiness == base::Readiness::ready) {
      for (const auto& socket : ready) {
        if (socket.revents == 0) continue;
        ::ares_process_fd(channel_, (socket.revents & ~POLLOUT) != 0 ? socket.fd : ARES_SOCKET_BAD,
                          (socket.revents & POLLOUT) != 0 ? socket.fd : ARES_SOCKET_BAD);
      }
    }
    return readiness;
  }

 private:
  void mind(int fd, int readable, int writable) {
    std::erase_if(sockets_, [fd](const pollfd& socket) { return socket.fd == fd; });
    const int events = (readable != 0 ? POLLIN : 0) | (writable != 0 ? POLLOUT : 0);
    if (events != 0) sockets_.push_back({fd, static_cast<short>(events), 0});
  }

  void take(int status, ares_addrinfo* found) {
    is_done_ = true;
    status_ = status;
    if (found == nullptr) return;
    for (const auto* node = found->nodes; node != nullptr; node = node->ai_next) {
      if (node->ai_addrlen > sizeof(sockaddr_storage)) continue;
      auto& address = addresses_.emplace_back();
      std::memcpy(&address.storage, node->ai_addr, node->ai_addrlen);
      address.size = node->ai_addrlen;
      address.set_port(port_);
    }
    ::ares_freeaddrinfo(found);
  }

  ares_channel channel_ = nullptr;
  std::vector<pollfd> sockets_;
  std::uint16_t port_ = 0;
  bool is_done_ = false;
  int status_ = ARES_SUCCESS;
  std::vector<SocketAddress> addresses_;
};

}  // namespace

std::string c_ares_version() { return ::ares_version(nullptr); }

base::Result<std::vector<SocketAddress>> ask_dns(const std::string& host, std::uint16_t port, base::Wait wait) {
  using namespace std::chrono_literals;
  const auto left = std::chrono::duration_cast<base::Duration>(wait.until() - base::BootClock::now());
  Lookup lookup;
  if (const int status = lookup.start(host, port, std::clamp<base::Duration>(left / 4, 50ms, 2s));
      status != ARES_SUCCESS) {
    return fail(ErrorCode::internal, ::ares_strerror(status));
  }
  bool is_late = false;
  while (!lookup.is_done() && !is_late) {
    if (lookup.step(wait) == base::Readiness::interrupted) return base::interrupted();
    is_late = wait.is_over();
  }
  if (!lookup.addresses().empty()) return std::move(lookup.addresses());
  if (!lookup.is_done() || lookup.status() == ARES_ETIMEOUT) {
    return fail(ErrorCode::unreachable, "no answer from the resolver");
  }
  const auto* why = lookup.status() == ARES_SUCCESS ? "it has no address" : ::ares_strerror(lookup.status());
  return fail(ErrorCode::unreachable, why);
}

}  // namespace rlock::net
