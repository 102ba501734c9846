#include "stores/redis/inbox.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace rlock::redis {
namespace {

Reply push(std::string_view kind, const std::string& channel, std::string_view message = {}) {
  Reply reply;
  reply.kind = Reply::Kind::push;
  for (const std::string_view word : {kind, std::string_view(channel), message}) {
    auto& item = reply.items.emplace_back();
    item.kind = Reply::Kind::text;
    item.text = word;
  }
  return reply;
}

class Inboxes : public ::testing::Test {
 protected:
  const Names names_{"rlock:k"};
  Inbox inbox_{names_, "t"};
};

// A node of a Cluster tells so that the slot, and with it the channel, has gone to another node.
TEST_F(Inboxes, AChannelThatIsTakenAwayHasMoved) {
  inbox_.hear(push("sunsubscribe", names_.channel("t")));
  EXPECT_TRUE(inbox_.take().moved);
  EXPECT_FALSE(inbox_.take().moved) << "is said once";
  inbox_.hear(push("sunsubscribe", names_.channel_of_all()));
  EXPECT_TRUE(inbox_.take().moved);
}

TEST_F(Inboxes, WhatIsSaidToOthersIsDropped) {
  inbox_.hear(push("sunsubscribe", names_.channel("u")));
  inbox_.hear(push("smessage", names_.channel("u"), "g"));
  inbox_.hear(push("message", Names("rlock:l").channel("t"), "g"));
  const auto pushed = inbox_.take();
  EXPECT_FALSE(pushed.moved || pushed.granted || pushed.touched || pushed.flushed || pushed.queue_lost);
}

TEST_F(Inboxes, AMessageIsTheSameOnAShardedChannel) {
  for (const char* kind : {"message", "smessage"}) {
    inbox_.hear(push(kind, names_.channel("t"), "g"));
    inbox_.hear(push(kind, names_.channel_of_all(), "r"));
    inbox_.hear(push(kind, names_.channel("t"), "h 700"));
    const auto pushed = inbox_.take();
    EXPECT_TRUE(pushed.granted && pushed.queue_lost) << kind;
    EXPECT_EQ(pushed.look_in, base::Duration(700)) << kind;
  }
}

}  // namespace
}  // namespace rlock::redis
