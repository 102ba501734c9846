#include "base/text/number.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace rlock::base {
namespace {

TEST(Number, ReadsAWholeText) {
  EXPECT_EQ(parse_number<int>("0"), 0);
  EXPECT_EQ(parse_number<int>("-7"), -7);
  EXPECT_EQ(parse_number<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(parse_number<int>("255", 255), 255);
}

TEST(Number, RefusesAnythingElse) {
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x", "0x10", "1.5", "99999999999"}) {
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_number<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(parse_number<unsigned>("-1"), std::nullopt);
  EXPECT_EQ(parse_number<int>("256", 255), std::nullopt);
}

}  // namespace
}  // namespace rlock::base
