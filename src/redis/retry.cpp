#include "redis/retry.hpp"

#include <random>

namespace rlock::redis {

base::Duration Backoff::next() {
  static std::minstd_rand random{std::random_device{}()};
  const auto whole = next_.count();
  next_ = std::clamp(2 * next_, base::Duration(20), most_);
  return base::Duration(std::uniform_int_distribution(whole - whole / 2, whole)(random));
}

}  // namespace rlock::redis
