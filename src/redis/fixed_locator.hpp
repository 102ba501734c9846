#pragma once

#include <string>

#include "redis/address.hpp"
#include "redis/locator.hpp"

namespace rlock::redis {

/// A server that stays where its URL says. Its name is looked up when it is first needed. What worked last is tried
/// first after a break, so that a dead resolver takes no lock away, and looked up anew every other time after that,
/// because names move.
class FixedLocator final : public Locator {
 public:
  explicit FixedLocator(const Address& address) : address_(address), name_(address.display()) {}

  base::Result<Target> locate(Reason reason, base::Wait wait) override;
  const std::string& name() const override { return name_; }

 private:
  Address address_;
  std::string name_;
  Target found_;
  bool look_up_ = true;
};

}  // namespace rlock::redis
