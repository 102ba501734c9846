#pragma once

#include <string>
#include <utility>
#include <vector>

#include "net/endpoint.hpp"
#include "net/socket.hpp"

namespace rlock::net {

/// The addresses of a host, whose name is looked up when first needed. What worked last is used again, so that a dead
/// resolver costs no lock; where that was refused, every other try looks the name up again, because its address may
/// have changed.
class Lookup {
 public:
  /// `shown` stands for the host in messages.
  Lookup(Endpoint endpoint, std::string shown) : endpoint_(std::move(endpoint)), shown_(std::move(shown)) {}

  /// In the order to try them. Fails as resolve() does.
  base::Result<std::vector<SocketAddress>> addresses(base::Wait wait);
  /// None of the addresses could be connected to.
  void refused() { is_due_ = !is_due_; }
  /// The name may lead elsewhere by now.
  void moved() { is_due_ = true; }
  const Endpoint& endpoint() const { return endpoint_; }

 private:
  Endpoint endpoint_;
  std::string shown_;
  std::vector<SocketAddress> found_;
  bool is_due_ = false;
};

}  // namespace rlock::net
