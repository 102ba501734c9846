#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/wait/clock.hpp"
#include "stores/ordered/ordered_store.hpp"

namespace rlock::ordered {

/// An entry whose turn has come, and that does not take the lock up, is of a waiter that is dead or frozen: after a
/// while another ends it, so that the lock goes on to the next (R28, R40 of tests/PROOFS.md). Its record shows whether
/// it was taken up; a waiter that does so at the last moment is not ended, since its version has changed.
class Claims {
 public:
  static constexpr base::Duration claim{1'000};

  /// The queue has moved now: those whose turn it is have it since then at the latest.
  void moved();
  /// Those of these, who all have their turn, that have not taken it up for the time of a claim.
  std::vector<Entry> lapsed(std::span<const Listed> heads);
  /// When to look for the next that has lapsed; base::never: nobody is to take anything up.
  base::Instant next() const;

 private:
  struct Seen {
    std::uint64_t version = 0;
    base::Instant since{};
  };
  std::map<std::string, Seen> seen_;  ///< by token
  std::optional<base::Instant> moved_at_;
};

}  // namespace rlock::ordered
