#pragma once

#include <sys/random.h>

#include "base/wait/clock.hpp"

namespace rlock::base {

/// Spreads the times of those that would else act at the same moment. Not std::random_device, which
/// may open /dev/urandom, and throws where there is no /dev (a chroot).
inline unsigned random_seed() {
  unsigned seed = 0;
  if (::getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed) return seed;
  return static_cast<unsigned>(BootClock::now().time_since_epoch().count());
}

}  // namespace rlock::base
