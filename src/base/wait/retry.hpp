#pragma once

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text/duration.hpp"
#include "base/wait/poller.hpp"

namespace rlock::base {

/// Whether the same request may be served a little later: nobody answered, or the answer was "not now" (LOADING, BUSY,
/// too many clients).
inline bool may_pass(const Error& error) {
  return error.code == ErrorCode::unreachable || error.code == ErrorCode::unready;
}

/// The pauses between tries while a server does not serve. Each is twice the one before it, between 20 ms and `max`,
/// less a random part of up to a half, so that the clients that one outage hit do not come back all at once.
class Backoff {
 public:
  /// first: the first pause; zero tries again at once, since a connection may have died unnoticed.
  Backoff(Duration first, Duration max) : first_(first), max_(max), next_(first) {}

  Duration next();
  void reset() { next_ = first_; }
  /// A connection broke that had worked since then. It is replaced at once, unless it broke soon: a proxy may hang up
  /// behind each answer.
  void broke(Instant worked_since);

 private:
  Duration first_;
  Duration max_;
  Duration next_;
};

/// For holders, who are few: they are back before those who wait for them.
inline Backoff holders_backoff() { return {Duration(0), Duration(200)}; }

/// The least time that a try is given, even if the time for all tries ends sooner: a shorter try would only time out
/// and hide the error of the try before it.
inline constexpr Duration min_try{1'000};

/// Asks until the answer is anything but an error that may pass; no try but the first begins at `until` or later. ask
/// is given the instant when its try should end. Returns the last answer. Fails with interrupted as soon as the poller
/// is.
template <class Ask>
auto until_served(Instant until, Poller& poller, Ask ask) -> decltype(ask(until)) {
  auto backoff = holders_backoff();
  std::optional<Instant> failing_since;
  while (true) {
    const auto asked = BootClock::now();
    auto answer = ask(std::max(until, asked + min_try));
    if (answer && failing_since) log_info("answered, after " + age_text(BootClock::now() - *failing_since));
    if (answer || !may_pass(answer.error())) return answer;
    const auto again = BootClock::now() + backoff.next();
    if (again >= until) return answer;
    if (!failing_since) log_info(answer.error().message + "; trying again");
    if (!failing_since) failing_since = asked;
    if (poller.wait({}, again) == Readiness::interrupted) return interrupted();
  }
}

}  // namespace rlock::base
