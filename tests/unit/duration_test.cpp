#include "base/text/duration.hpp"

#include <gtest/gtest.h>

namespace rlock::base {
namespace {

TEST(Duration, ReadsUnitsAndBareSeconds) {
  EXPECT_EQ(parse_duration("500ms"), Duration(500));
  EXPECT_EQ(parse_duration("30s"), Duration(30'000));
  EXPECT_EQ(parse_duration("30"), Duration(30'000));
  EXPECT_EQ(parse_duration("0"), Duration(0));
  EXPECT_EQ(parse_duration("5m"), Duration(300'000));
  EXPECT_EQ(parse_duration("1h30m"), Duration(5'400'000));
  EXPECT_EQ(parse_duration("1d2h3m4s5ms"), Duration(93'784'005));
  EXPECT_EQ(parse_duration("0.5"), Duration(500));
  EXPECT_EQ(parse_duration("1.25s"), Duration(1'250));
}

TEST(Duration, RefusesEverythingElse) {
  for (const char* text : {"",   " ",  "-1",     "+1",    "1x",  "s",    "1 s",   "1s ", "30m1h", "1s1s", "1s30",
                           "1.", ".5", "1.2345", "0.5ms", "1e3", "0x10", "1h-3m", "1\n", "\xff",  "inf",  "nan"}) {
    EXPECT_EQ(parse_duration(text), std::unexpected(BadDuration::malformed)) << text;
  }
}

TEST(Duration, SaysThatItIsTooLong) {
  EXPECT_EQ(parse_duration("3650d"), max_duration);
  for (const char* text : {"3650d1ms", "36500d", "1d99999999999999999999s", "99999999999999999999"}) {
    EXPECT_EQ(parse_duration(text), std::unexpected(BadDuration::too_long)) << text;
  }
  EXPECT_EQ(parse_duration("99999999999999999999x"), std::unexpected(BadDuration::malformed));
}

TEST(Duration, FormatsWhatItReads) {
  for (long ms : {0L, 1L, 999L, 1'000L, 1'500L, 60'000L, 5'400'000L, 93'784'005L}) {
    EXPECT_EQ(parse_duration(format_duration(Duration(ms))), Duration(ms)) << format_duration(Duration(ms));
  }
  EXPECT_EQ(format_duration(Duration(5'400'000)), "1h30m");
}

TEST(Duration, IsToldToPeopleInTwoUnits) {
  const auto text = [](long ms) { return age_text(Duration(ms)); };
  EXPECT_EQ(text(0), "0s");
  EXPECT_EQ(text(999), "0s");
  EXPECT_EQ(text(1'999), "1s");
  EXPECT_EQ(text(134'000), "2m 14s");
  EXPECT_EQ(text(120'000), "2m");
  EXPECT_EQ(text(3'601'000), "1h");
  EXPECT_EQ(text(3'660'000), "1h 1m");
  EXPECT_EQ(text(93'784'005), "1d 2h");
  EXPECT_EQ(text(86'400'000L * 400), "400d");
}

}  // namespace
}  // namespace rlock::base
