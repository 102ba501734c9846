#pragma once

#include <algorithm>
#include <optional>

#include "base/wait/clock.hpp"

namespace rlock::lock {

/// How long an acquisition may take (R38 of tests/PROOFS.md). Made when it begins.
struct Patience {
  /// Behind the end of the wait, for the last answer and for a release. What is left of half a second is for the rest.
  static constexpr base::Duration last_answer{400};

  base::Instant give_up = base::never;  ///< a busy lock is waited for until then
  base::Instant end = base::never;      ///< and no server for longer than this: what has no answer by then gets none

  /// wait: nullopt for ever. first_answer: what the first answer may take at any rate.
  static Patience of(std::optional<base::Duration> wait, base::Duration first_answer = {}) {
    if (!wait) return {};
    const auto start = base::BootClock::now();
    return {start + *wait, std::max(start + *wait + last_answer, start + first_answer)};
  }
  /// For a try that does not wait for a busy lock, with the same end.
  Patience at_once() const { return {base::BootClock::now(), end}; }

  bool is_for_ever() const { return give_up == base::never; }
};

}  // namespace rlock::lock
