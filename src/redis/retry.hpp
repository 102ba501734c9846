#pragma once

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/poller.hpp"

namespace rlock::redis {

/// Whether the same request may be served a little later: nobody answered, or the answer was "not now" (LOADING, BUSY,
/// too many clients).
inline bool may_pass(const base::Error& error) {
  return error.code == base::ErrorCode::unreachable || error.code == base::ErrorCode::unready;
}

/// The pauses between tries while a server does not serve. Each is twice the one before it, between 20 ms and `most`,
/// less a random part of up to a half: those whom one outage hit must not come back all at once.
class Backoff {
 public:
  /// first: the first pause; zero tries again at once, since a connection may have died unnoticed.
  Backoff(base::Duration first, base::Duration most) : first_(first), most_(most), next_(first) {}

  base::Duration next();
  void reset() { next_ = first_; }

 private:
  base::Duration first_;
  base::Duration most_;
  base::Duration next_;
};

/// For holders, who are few: they are back before those who wait for them.
inline Backoff holders_backoff() { return {base::Duration(0), base::Duration(200)}; }

/// The error of a wait that was broken off.
inline std::unexpected<base::Error> interrupted() { return base::fail(base::ErrorCode::interrupted, "interrupted"); }

/// What a try has at the least, however soon the time for all of them is over: cut shorter, it would only hide what the
/// one before it was told.
inline constexpr base::Duration least_try{1'000};

/// Asks until the answer is anything but an error that may pass; no try but the first begins at `until` or later. ask
/// is given the instant when its try should end. Returns the last answer. Fails with interrupted as soon as the poller
/// is.
template <class Ask>
auto until_served(base::Instant until, base::Poller& poller, Ask ask) -> decltype(ask(until)) {
  auto backoff = holders_backoff();
  while (true) {
    auto answer = ask(std::max(until, base::BootClock::now() + least_try));
    if (answer || !may_pass(answer.error())) return answer;
    const auto again = base::BootClock::now() + backoff.next();
    if (again >= until) return answer;
    base::log_debug(answer.error().message + "; trying again");
    if (poller.wait({}, again) == base::Readiness::interrupted) return interrupted();
  }
}

}  // namespace rlock::redis
