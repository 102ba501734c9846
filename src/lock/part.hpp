#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/wait/fiber.hpp"
#include "lock/multi_lock.hpp"

namespace rlock::lock {

/// One key of a MultiLock, and what we know of our lease on it. One call at a time is under way: it runs on a fiber,
/// and what it was answered stands here when it has ended.
struct MultiLock::Part {
  /// own: acquired here, and to be released here.
  enum class Origin { own, held_around };

  Part(Request its_request, std::unique_ptr<Backend> its_backend, Origin its_origin)
      : request(std::move(its_request)),
        once(std::exchange(request.once, {})),
        backend(std::move(its_backend)),
        origin(its_origin) {}

  bool is_held() const { return deadline != base::Instant{}; }
  bool is_to_release() const { return origin == Origin::own && (is_held() || is_left); }
  void hold(const Lease& lease, const LeaseTerms& terms);
  /// As it was before it was acquired, with another backend.
  void forget(std::unique_ptr<Backend> another);

  /// These begin a call that ends by `until`.
  void renew(Watch watch, const LeaseTerms& terms, base::Instant until);
  void check(base::Instant until);
  void release(base::Instant until);

  Request request;
  base::Duration once;  ///< for acquiring alone: a lease that is held already has something to do
  ReleaseOptions release_options;
  std::unique_ptr<Backend> backend;
  Origin origin;
  std::uint64_t fence = 0;
  base::Instant counts_from{};
  base::Instant deadline{};          ///< of the lease; none: not held
  base::Instant next_renewal{};      ///< while other keys are waited for
  bool is_left = false;              ///< it was not acquired, and releasing what the server may hold had no answer
  std::optional<base::Error> error;  ///< of the last call
  std::optional<Ownership> lost;     ///< and who holds it instead
  std::optional<Released> released;
  base::Fiber call;  ///< the call that is under way; it ends before what it writes to

 private:
  void ask(base::Instant until, std::function<void(base::Wait)> step);
  void heard(const Ownership& renewed, base::Instant deadline_before, const LeaseTerms& terms);
  void lose(const Ownership& ownership);
};

}  // namespace rlock::lock
