#pragma once

#include <string>

#include "stores/redis/client/locator.hpp"
#include "stores/redis/locate/address.hpp"

namespace rlock::redis {

/// A server at the place that its URL says. The host name is looked up when first needed. After a break, the address
/// that worked last is tried first, so that a dead resolver costs no lock; if that fails, every other try looks the
/// name up again, because its address may have changed. So does each try after a server that is a replica.
class FixedLocator final : public Locator {
 public:
  explicit FixedLocator(const Address& address) : address_(address), name_(address.name()) {}

  base::Result<Target> locate(Reason reason, base::Wait wait) override;
  const std::string& name() const override { return name_; }

 private:
  Address address_;
  std::string name_;
  Target found_;
  bool look_up_ = true;
};

}  // namespace rlock::redis
