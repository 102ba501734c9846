#include "stores/redis/scripts/names.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

#include "lock/who.hpp"
#include "stores/redis/client/session.hpp"
#include "stores/redis/locate/fixed_locator.hpp"
#include "stores/redis/locate/slot.hpp"

namespace rlock::redis {
namespace {

TEST(Names, CarryTheLockAsHashTag) {
  const Names names("rlock:k");
  EXPECT_EQ(names.queue(), "rlock:q:{rlock:k}");
  EXPECT_EQ(names.info(), "rlock:i:{rlock:k}");
  EXPECT_EQ(names.channel("t"), "rlock:w:{rlock:k}:t");
}

TEST(Names, LeaveATagOfTheKeyItsOwn) { EXPECT_EQ(Names("a{b}c").queue(), "rlock:q::a{b}c"); }

TEST(Names, StandInTheSlotOfTheLock) {
  // Not a tag for the server: nothing between the braces.
  for (const char* lock : {"a", "a{b", "a}b", "}", "{}", "a{}c", "{}{a}", "}{", "a{b}c", "{a}", "a}{b}", "{{a}}"}) {
    const Names names(lock);
    const auto slot = redis::hash_slot(lock);
    for (const auto& name : {names.queue(), names.info(), names.fence(), names.tombstone("0f"), names.window(),
                             names.channel("0f"), names.channel_of_all()}) {
      EXPECT_EQ(redis::hash_slot(name), slot) << name;
    }
  }
  EXPECT_EQ(redis::hash_slot("123456789"), 0x31c3 % redis::slots);  // the check value of CRC-16/XMODEM
}

// tests/cluster.bats names a node of a Cluster.
TEST(Names, StandInTheSlotThatAServerSays) {
  const char* url = std::getenv("TEST_CLUSTER_URL");
  if (url == nullptr) GTEST_SKIP() << "no TEST_CLUSTER_URL";
  redis::Session session(std::make_unique<redis::FixedLocator>(*redis::Address::parse(url)), {},
                         std::chrono::seconds(30), redis::Greet::first);
  base::PlainPoller poller;
  std::minstd_rand random{20260101};
  for (int round = 0; round < 100; ++round) {
    std::vector<std::string> names;
    for (int i = 0; i < 100; ++i) {
      std::string key;
      for (auto left = 1 + random() % 12; left > 0; --left) key += "{}:ab\xff"[random() % 6];
      const Names of(key);
      for (auto name : {of.lock, of.queue(), of.info(), of.fence(), of.tombstone("0f"), of.window(), of.channel("0f"),
                        of.channel_of_all()}) {
        names.push_back(std::move(name));
      }
      EXPECT_EQ(lock_of_side_key(of.queue()), key);
    }
    std::vector<redis::Command> flight;
    for (const auto& name : names) flight.push_back({"CLUSTER", "KEYSLOT", name});
    const auto per_key = names.size() / 100;
    const auto slots = session.flight(flight, {base::never, poller});
    ASSERT_TRUE(slots) << slots.error().message;
    for (std::size_t i = 0; i < names.size(); ++i) {
      ASSERT_EQ((*slots)[i].integer, (*slots)[i / per_key * per_key].integer) << names[i];
      ASSERT_EQ((*slots)[i].integer, redis::hash_slot(names[i])) << names[i];
    }
  }
}

TEST(Names, OfDifferentLocksDiffer) {
  std::set<std::string> seen;
  for (const char* lock : {"a", "{a}", "{{a}", "{a}}", ":a", "a}", "{", "{}", ":{a}", "a}b", "b}:a}b", "}"}) {
    EXPECT_TRUE(seen.insert(Names(lock).queue()).second) << lock;
    EXPECT_EQ(lock_of_side_key(Names(lock).queue()), lock);
    EXPECT_EQ(lock_of_side_key(Names(lock).info()), lock);
    EXPECT_TRUE(is_side_key(Names(lock).fence()));
  }
  EXPECT_FALSE(is_side_key("rlock:quay"));
  EXPECT_EQ(lock_of_side_key("rlock:quay"), "");
}

TEST(Who, SurvivesItsWayThroughTheServer) {
  const lock::Who who{"web 1", 123, "", "make  all 'x'"};
  const auto back = lock::Who::decode(who.encode());
  EXPECT_EQ(back.host, "web_1");
  EXPECT_EQ(back.pid, 123);
  EXPECT_EQ(back.user, "?");
  EXPECT_EQ(back.command, who.command);
}

TEST(Record, IsReadAsTheScriptsWriteIt) {
  const auto record = lock::Record::decode("1 s 1700000000000001 1700000000000000 42 7 web1 ann ./job -x");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->since_us, 1700000000000000);
  EXPECT_EQ(record->fence, 42U);
  EXPECT_EQ(record->who.summary(), "ann@web1 pid 7");
  EXPECT_EQ(record->who.command, "./job -x");
  EXPECT_TRUE(lock::Record::decode("1"));
  EXPECT_TRUE(lock::Record::decode("1" + std::string(5, ' ')));
  EXPECT_EQ(record->mode, lock::Mode{});
  const auto several = lock::Record::decode("2 s 1700000000000001 1700000000000000 42 4 7 web1 ann ./job -x");
  ASSERT_TRUE(several);
  EXPECT_EQ(several->mode, (lock::Mode{.kind = lock::Mode::Kind::slots, .slots = 4}));
  EXPECT_EQ(several->who.summary(), "ann@web1 pid 7");
  for (const auto* other : {"", "x", " ", "2 s 1 1 1 y 7 web1 ann ", "2 s 1 1 1 0 7 web1 ann ", "3 s 1 1 1 7 web1 ann ",
                            "11 s 1 1 1 7 web1 ann "}) {
    EXPECT_FALSE(lock::Record::decode(other)) << other;
  }
}

}  // namespace
}  // namespace rlock::redis
