#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait/clock.hpp"
#include "forged_socket.hpp"
#include "jute_bytes.hpp"
#include "stores/zookeeper/session.hpp"

namespace rlock::zookeeper {
namespace {

using namespace std::chrono_literals;

// An answer that is ok, to the request of this number.
std::string answer(std::int32_t to, const std::string& body) { return text(number(to) + std::string(12, '\0') + body); }

// Takes everybody in, and answers a posted request no earlier than the next one.
class LateServer {
 public:
  Address address() const {
    Address address;
    address.socket = socket_.path();
    return address;
  }

 private:
  static std::string said_of(std::string_view frame, bool is_first, std::string& late) {
    if (is_first) return text(number(0) + number(4000) + std::string(8, '\1') + text(std::string(16, 'p')) + '\0');
    const auto from = number_at(frame, 0);
    const auto body =
        number_at(frame, 4) == static_cast<std::int32_t>(Request::Op::exists) ? std::string(68, '\1') : std::string();
    const auto said = std::exchange(late, "");
    if (body.empty()) return said + answer(from, "");
    late = answer(from, body);
    return said;
  }

  ForgedSocket socket_{[] {
    return [bytes = std::string(), is_first = true, late = std::string()](std::string_view received) mutable {
      bytes += received;
      ForgedSocket::Reply reply;
      bool is_broken = false;
      while (auto frame = take_frame(bytes, is_broken)) {
        reply.bytes += said_of(*frame, std::exchange(is_first, false), late);
      }
      return reply;
    };
  }};
};

// Were it taken for the ping's, the ping's would be taken for that of the request behind it.
TEST(ZookeeperSession, TheAnswerToWhatWasPostedIsNotThatOfAPing) {
  const LateServer server;
  Session session(server.address(), 5s);
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

// Answers each get_children with so many bytes, however they are cut, and everything else as usual.
class VerboseServer {
 public:
  explicit VerboseServer(std::size_t size) : size_(size) {}

  Address address() const {
    Address address;
    address.socket = socket_.path();
    return address;
  }

 private:
  std::string said_of(std::string_view frame, bool is_first) const {
    if (is_first) return text(number(0) + number(4000) + std::string(8, '\1') + text(std::string(16, 'p')) + '\0');
    const bool is_of_children = number_at(frame, 4) == static_cast<std::int32_t>(Request::Op::get_children);
    return answer(number_at(frame, 0), std::string(is_of_children ? size_ : 1, 'x'));
  }

  std::size_t size_;
  ForgedSocket socket_{[this] {
    return [this, bytes = std::string(), is_first = true](std::string_view received) mutable {
      bytes += received;
      ForgedSocket::Reply reply;
      bool is_broken = false;
      while (auto frame = take_frame(bytes, is_broken)) reply.bytes += said_of(*frame, std::exchange(is_first, false));
      return reply;
    };
  }};
};

TEST(ZookeeperSession, AnAnswerThatIsTooLongIsPassedOverAndTheOthersAreRead) {
  const VerboseServer server(max_frame);
  Session session(server.address(), 5s);
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
