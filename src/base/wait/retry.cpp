#include "base/wait/retry.hpp"

#include <random>

#include "base/random_seed.hpp"

namespace rlock::base {
namespace {

constexpr std::chrono::seconds min_connection_life{1};

}  // namespace

Duration Backoff::next() {
  static std::minstd_rand random{random_seed()};
  const auto whole = next_.count();
  next_ = std::clamp(2 * next_, Duration(20), max_);
  return Duration(std::uniform_int_distribution(whole - whole / 2, whole)(random));
}

void Backoff::broke(Instant worked_since) {
  if (BootClock::now() >= worked_since + min_connection_life) reset();
}

}  // namespace rlock::base
