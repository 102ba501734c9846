#include "base/error.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace rlock::base {
namespace {

Result<std::unique_ptr<int>> number(int n) {
  if (n < 0) return fail(ErrorCode::usage, "negative");
  return std::make_unique<int>(n);
}

Result<void> check(int n) {
  if (n > 9) return fail(ErrorCode::configuration, "too big");
  return {};
}

Result<std::string> digit(int n) {
  const auto value = RLOCK_TRY(number(n));
  RLOCK_TRY(check(*value));
  return std::to_string(*value);
}

TEST(Try, HandsOutTheValueOrReturnsTheError) {
  EXPECT_EQ(digit(7), "7");
  EXPECT_EQ(digit(-1).error().code, ErrorCode::usage);
  EXPECT_EQ(digit(-1).error().message, "negative");
  EXPECT_EQ(digit(10).error().code, ErrorCode::configuration);
}

}  // namespace
}  // namespace rlock::base
