#pragma once

#include <string>

#include "net/lookup.hpp"
#include "stores/redis/client/locator.hpp"
#include "stores/redis/locate/address.hpp"

namespace rlock::redis {

/// A server at the place that its URL says. After a server that is a replica, its name is looked up again.
class FixedLocator final : public Locator {
 public:
  explicit FixedLocator(const Address& address)
      : address_(address), name_(address.name()), lookup_(address.endpoints.front(), address.shown_host()) {}

  base::Result<net::Target> locate(Reason reason, base::Wait wait) override;
  const std::string& name() const override { return name_; }

 private:
  Address address_;
  std::string name_;
  net::Lookup lookup_;
};

}  // namespace rlock::redis
