#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wait/clock.hpp"
#include "forged_member.hpp"
#include "stores/zookeeper/session.hpp"

namespace rlock::zookeeper {
namespace {

using namespace std::chrono_literals;

// Takes everybody in, and answers a posted request no earlier than the next one.
ForgedMember late_member() {
  return ForgedMember([] {
    return [late = std::string()](std::string_view frame, bool is_greeting) mutable {
      if (is_greeting) return welcome(4000);
      const auto from = number_at(frame, 0);
      const auto said = std::exchange(late, "");
      if (number_at(frame, 4) != static_cast<std::int32_t>(Request::Op::exists)) return said + answer(from, "");
      late = answer(from, std::string(68, '\1'));
      return said;
    };
  });
}

// Were it taken for the ping's, the ping's would be taken for that of the request behind it.
TEST(ZookeeperSession, TheAnswerToWhatWasPostedIsNotThatOfAPing) {
  const ForgedMember member = late_member();
  Session session(member.address(), 5s);
  base::PlainPoller poller;
  const base::Wait wait(base::BootClock::now() + 1min, poller);
  ASSERT_TRUE(session.create(4s, {}, wait));
  const auto posted = session.post(exists("/watched", Notify::yes));
  ASSERT_TRUE(posted);
  const auto pinged = session.flight(std::vector{ping()}, wait);
  ASSERT_TRUE(pinged);
  EXPECT_EQ(pinged->front().body, "");
  const auto news = session.drain();
  ASSERT_TRUE(news);
  ASSERT_EQ(news->answers.size(), 1U);
  EXPECT_EQ(news->answers.front().number, *posted);
  // In one flight with others it has no number of its own either.
  const auto both = session.flight(std::vector{remove("/a"), ping(), remove("/b")}, wait);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->size(), 3U);
}

// Answers each get_children with so many bytes, and everything else as usual.
ForgedMember verbose_member(std::size_t size) {
  return ForgedMember([size] {
    return [size](std::string_view frame, bool is_greeting) {
      if (is_greeting) return welcome(4000);
      const bool is_of_children = number_at(frame, 4) == static_cast<std::int32_t>(Request::Op::get_children);
      return answer(number_at(frame, 0), std::string(is_of_children ? size : 1, 'x'));
    };
  });
}

TEST(ZookeeperSession, AnAnswerThatIsTooLongIsPassedOverAndTheOthersAreRead) {
  const ForgedMember member = verbose_member(max_frame);
  Session session(member.address(), 5s);
  base::PlainPoller poller;
  const base::Wait wait(base::BootClock::now() + 1min, poller);
  ASSERT_TRUE(session.create(4s, {}, wait));
  for (int i = 0; i < 2; ++i) {
    const auto answers = session.flight(std::vector{remove("/a"), get_children("/b"), remove("/c")}, wait);
    ASSERT_TRUE(answers);
    EXPECT_EQ((*answers)[0].body, "x");
    EXPECT_EQ((*answers)[1].code, Code::too_long);
    EXPECT_EQ((*answers)[1].body, "");
    EXPECT_EQ((*answers)[2].code, Code::ok);
    EXPECT_EQ((*answers)[2].body, "x");
  }
  EXPECT_EQ(session.connection(), 1U);
}

}  // namespace
}  // namespace rlock::zookeeper
