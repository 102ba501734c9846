#include "lock/who.hpp"

#include <gtest/gtest.h>

namespace rlock::lock {
namespace {

TEST(WhoTest, ALabelStaysApartFromACommandWhateverIsInIt) {
  const auto who = Who::describe(7, "run \x1f this", "nightly");
  const auto decoded = Who::decode(who.encode());
  EXPECT_EQ(decoded.command, "run   this");
  EXPECT_EQ(decoded.label, "nightly");
}

}  // namespace
}  // namespace rlock::lock
