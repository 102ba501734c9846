#include "stores/redis/heartbeat.hpp"

#include <gtest/gtest.h>

namespace rlock::redis {
namespace {

using namespace std::chrono_literals;

TEST(Heartbeat, IsRarerTheFartherBehindAWaiterStands) {
  EXPECT_EQ(heartbeat_pause(-1), 5s);
  EXPECT_EQ(heartbeat_pause(0), 5s);
  EXPECT_EQ(heartbeat_pause(2), 5s);
  EXPECT_EQ(heartbeat_pause(43), 5s);
  EXPECT_EQ(heartbeat_pause(250), 5s);
  EXPECT_EQ(heartbeat_pause(1'000), 20s);
  EXPECT_EQ(heartbeat_pause(100'000), 100s);
  EXPECT_EQ(heartbeat_pause(INT64_MAX), 100s);
}

// Whoever is frozen ahead, the first who lives finds a claim that has lapsed (1 s) within about another one.
TEST(Heartbeat, IsQuickCloseBehindThoseWhoWatch) {
  EXPECT_EQ(heartbeat_pause(3), 1s);
  EXPECT_EQ(heartbeat_pause(13), 2s);
  EXPECT_LE(heartbeat_pause(3) + heartbeat_jitter(heartbeat_pause(3)), 1'400ms);
}

// The scripts count a waiter as silent so long after what it is far behind by.
TEST(Heartbeat, ComesLongBeforeItIsMissed) {
  for (const std::int64_t rank : {0, 3, 40, 250, 500, 1'000, 2'000, 4'999, 5'000, 10'000, 100'000}) {
    const auto latest = heartbeat_pause(rank) + heartbeat_jitter(heartbeat_pause(rank));
    const auto far = std::min(constants::far * rank, constants::max_far);
    EXPECT_LE(latest + 10s, far + constants::silent) << rank;
  }
}

}  // namespace
}  // namespace rlock::redis
