#include "lock/heartbeat.hpp"

#include <gtest/gtest.h>

namespace rlock::lock {
namespace {

using namespace std::chrono_literals;

TEST(Heartbeat, IsRarerTheFartherBehindAWaiterStands) {
  EXPECT_EQ(heartbeat_pause(-1), 5s);
  EXPECT_EQ(heartbeat_pause(0), 5s);
  EXPECT_EQ(heartbeat_pause(250), 5s);
  EXPECT_EQ(heartbeat_pause(1'000), 20s);
  EXPECT_EQ(heartbeat_pause(100'000), 100s);
  EXPECT_EQ(heartbeat_pause(INT64_MAX), 100s);
}

// The scripts count a waiter as silent 20 s after what it is far behind by (SILENT_US).
TEST(Heartbeat, ComesLongBeforeItIsMissed) {
  for (const std::int64_t rank : {0, 250, 500, 1'000, 2'000, 4'999, 5'000, 10'000, 100'000}) {
    const auto latest = heartbeat_pause(rank) + heartbeat_jitter(heartbeat_pause(rank));
    const auto far = std::min<base::Duration>(base::Duration(20) * rank, 100s);
    EXPECT_LE(latest + 10s, far + 20s) << rank;
  }
}

}  // namespace
}  // namespace rlock::lock
