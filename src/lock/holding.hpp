#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lock/backend.hpp"

namespace rlock::lock {

/// A lease that is held, or several at once (MultiLock), until it ends. It is bound to its backend and its request:
/// each step is that of lock::Backend.
class Holding {
 public:
  virtual ~Holding() = default;

  virtual base::Result<Ownership> renew(Watch watch, base::Wait wait) = 0;
  virtual base::Result<Ownership> check(base::Wait wait) = 0;
  virtual base::Result<Released> release(base::Wait wait) = 0;
  virtual std::vector<pollfd> wait_fds() const = 0;
  virtual base::Result<Event> drain() = 0;
  virtual const std::string& name() const = 0;

  /// Of the lease; of several, of the first.
  virtual const Request& request() const = 0;
};

/// The lease of one lock.
class OneLease final : public Holding {
 public:
  /// request: that of the acquire.
  OneLease(Backend& backend, Request request) : backend_(backend), request_(std::move(request)) {}

  base::Result<Ownership> renew(Watch watch, base::Wait wait) override { return backend_.renew(request_, watch, wait); }
  base::Result<Ownership> check(base::Wait wait) override { return backend_.check(request_, wait); }
  base::Result<Released> release(base::Wait wait) override { return backend_.release(request_, {}, wait); }
  std::vector<pollfd> wait_fds() const override { return backend_.wait_fds(); }
  base::Result<Event> drain() override { return backend_.drain(); }
  const std::string& name() const override { return backend_.name(); }
  const Request& request() const override { return request_; }

 private:
  Backend& backend_;
  Request request_;
};

}  // namespace rlock::lock
