#include "stores/zookeeper/zookeeper_store.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/wait/clock.hpp"
#include "forged_member.hpp"

namespace rlock::zookeeper {
namespace {

using namespace std::chrono_literals;
using base::BootClock;

constexpr base::Duration ttl = 10s;

// A member with one queue and one entry in it, which it lets everybody make and write.
class Member {
 public:
  Address address() const { return member_.address(); }
  /// Greetings, each with a connection of its own.
  int greetings() const { return greetings_; }
  int writes() const { return writes_; }
  int creates() const { return creates_; }
  int ends() const { return ends_; }
  /// The queue cannot be listed from here on.
  void grow() { is_long_ = true; }
  /// Of the last greeting.
  base::Instant greeted_at() const { return greeted_at_; }

 private:
  std::string said_of(std::string_view frame, bool is_greeting) {
    if (is_greeting) {
      greeted_at_ = BootClock::now();
      ++greetings_;
      return welcome(ttl.count());
    }
    const std::string stat(68, '\0');
    const auto said = [&](const std::string& body) { return answer(number_at(frame, 0), body); };
    switch (static_cast<Request::Op>(number_at(frame, 4))) {
      case Request::Op::create: {
        ++creates_;
        const std::string path(frame.substr(12, static_cast<std::size_t>(number_at(frame, 8))));
        name_ = path.substr(path.rfind('/') + 1) + "0000000000";
        return said(text(path + "0000000000") + stat);
      }
      case Request::Op::close_session:
        ++ends_;
        return said("");
      case Request::Op::get_children:
        return is_long_ ? said(std::string(max_frame, 'x')) : said(number(1) + text(name_) + stat);
      case Request::Op::set_data:
        ++writes_;
        return said(stat);
      default:
        return said("");
    }
  }

  std::string name_{};
  std::atomic<int> greetings_ = 0;
  std::atomic<int> writes_ = 0;
  std::atomic<int> creates_ = 0;
  std::atomic<int> ends_ = 0;
  std::atomic<bool> is_long_ = false;
  std::atomic<base::Instant> greeted_at_{};
  ForgedMember member_{
      [this] { return [this](std::string_view frame, bool is_greeting) { return said_of(frame, is_greeting); }; }};
};

class ZookeeperProof : public ::testing::Test {
 protected:
  void enter() {
    const auto view = store_.enter("0123", lock::Mode{}, record_, ordered::Join::always, wait_);
    ASSERT_TRUE(view && *view);
    EXPECT_LE((**view).sent, member_.greeted_at());
  }

  Member member_;
  base::PlainPoller poller_;
  base::Wait wait_{BootClock::now() + 1min, poller_};
  ordered::Record record_{.state = ordered::Record::State::holds, .ttl = ttl};
  ZookeeperStore store_{member_.address(), "k", 5s};
};

// A ping or a write over the connection that stands shows nothing: a follower that was cut off answers both.
TEST_F(ZookeeperProof, EachRenewalOpensTheSessionAgainWithAWriteBehindIt) {
  enter();
  const auto greetings = member_.greetings();
  for (int i = 1; i <= 3; ++i) {
    const auto view = store_.confirm(record_, wait_);
    ASSERT_TRUE(view && *view);
    EXPECT_EQ(member_.greetings(), greetings + i);
    EXPECT_EQ(member_.writes(), i);
  }
}

// Its answer may have been on its way for long.
TEST_F(ZookeeperProof, CountsFromBeforeTheSessionWasOpened) {
  enter();
  const auto before = BootClock::now();
  const auto view = store_.confirm(record_, wait_);
  ASSERT_TRUE(view && *view);
  EXPECT_GE((**view).sent, before);
  EXPECT_LE((**view).sent, member_.greeted_at());
}

TEST_F(ZookeeperProof, AHolderRenewsThoughItsQueueIsTooLongToBeListed) {
  enter();
  member_.grow();
  for (int i = 1; i <= 3; ++i) {
    const auto view = store_.confirm(record_, wait_);
    ASSERT_TRUE(view && *view);
    EXPECT_TRUE((**view).ahead.empty());
    EXPECT_EQ(member_.writes(), i);
  }
}

// It would be one more with each try.
TEST_F(ZookeeperProof, AnEntryInAQueueThatIsTooLongToBeListedIsEndedBeforeTheNextOneIsMade) {
  member_.grow();
  for (int i = 1; i <= 3; ++i) {
    const auto view = store_.enter("0123", lock::Mode{}, record_, ordered::Join::always, wait_);
    ASSERT_FALSE(view);
    EXPECT_EQ(view.error().code, base::ErrorCode::unready);
    EXPECT_FALSE(store_.may_be_there());
    EXPECT_EQ(member_.creates(), i);
    while (member_.ends() < i && !wait_.is_over()) std::this_thread::yield();
    EXPECT_EQ(member_.ends(), i);
  }
}

}  // namespace
}  // namespace rlock::zookeeper
