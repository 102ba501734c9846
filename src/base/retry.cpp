#include "base/retry.hpp"

#include <random>

namespace rlock::base {

Duration Backoff::next() {
  static std::minstd_rand random{std::random_device{}()};
  const auto whole = next_.count();
  next_ = std::clamp(2 * next_, Duration(20), max_);
  return Duration(std::uniform_int_distribution(whole - whole / 2, whole)(random));
}

}  // namespace rlock::base
