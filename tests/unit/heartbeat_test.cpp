#include "lock/heartbeat.hpp"

#include <gtest/gtest.h>

namespace rlock::lock {
namespace {

using namespace std::chrono_literals;

TEST(Heartbeat, IsRarerTheFartherBehindAWaiterStands) {
  EXPECT_EQ(heartbeat_pause(-1), 5s);
  EXPECT_EQ(heartbeat_pause(0), 5s);
  EXPECT_EQ(heartbeat_pause(400), 5s);
  EXPECT_EQ(heartbeat_pause(1'000), 12s);
  EXPECT_EQ(heartbeat_pause(100'000), 40s);
  EXPECT_EQ(heartbeat_pause(INT64_MAX), 40s);
}

// The scripts count a waiter as silent 20 s after what it is far behind by (SILENT_US), and forget a queue that was not
// heard of for 60 s (QUEUE_MS).
TEST(Heartbeat, ComesLongBeforeItIsMissed) {
  for (const std::int64_t rank : {0, 400, 500, 1'000, 2'000, 3'333, 3'334, 10'000, 100'000}) {
    const auto latest = heartbeat_pause(rank) + heartbeat_jitter(heartbeat_pause(rank));
    const auto far = std::min<base::Duration>(base::Duration(12) * rank, 40s);
    EXPECT_LE(latest + 10s, far + 20s) << rank;
    EXPECT_LE(latest + 10s, 60s) << rank;
  }
}

}  // namespace
}  // namespace rlock::lock
