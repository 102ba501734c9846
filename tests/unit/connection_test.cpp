#include "stores/redis/client/connection.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/wait/event.hpp"

namespace rlock::redis {
namespace {

using namespace std::chrono_literals;
using base::BootClock;
using base::Readiness;
using base::Result;

// Has these bytes for each read, and takes all that is written.
class EndlessStream final : public net::Stream {
 public:
  EndlessStream(std::string& written, std::string bytes) : written_(written), bytes_(std::move(bytes)) {
    readable_.raise();
  }

  Result<short> handshake() override { return 0; }
  Result<net::Transfer> read(std::span<char> into) override {
    return net::Transfer{.bytes = bytes_.copy(into.data(), into.size())};
  }
  Result<net::Transfer> write(std::span<const char> bytes) override {
    written_.append(bytes.data(), bytes.size());
    return net::Transfer{.bytes = bytes.size()};
  }
  bool has_buffered() const override { return false; }
  int fd() const override { return readable_.fd(); }

 private:
  std::string& written_;
  std::string bytes_;
  base::Event readable_ = *base::Event::open();
};

// A signal has come, and nobody has waited since.
class InterruptedPoller final : public base::Poller {
 public:
  Readiness wait(std::span<pollfd>, base::Instant) override { return Readiness::interrupted; }
  bool may_spin() const override { return true; }
};

struct Connected {
  explicit Connected(std::string bytes)
      : connection(*Connection::open(std::make_unique<EndlessStream>(written, std::move(bytes)), "it",
                                     net::Place::this_machine, wait)) {}

  InterruptedPoller poller;
  base::Wait wait{BootClock::now() + 5s, poller};
  std::string written;
  Connection connection;
};

TEST(Connection, AReplyThatTricklesInWithoutAnEndIsBrokenOff) {
  Connected it("+");
  const auto start = BootClock::now();
  const auto reply = it.connection.next(it.wait);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, base::ErrorCode::interrupted);
  EXPECT_LT(BootClock::now() - start, 1s);
}

TEST(Connection, RepliesThatNobodyHasAskedForAreBrokenOffToo) {
  Connected it(">1\r\n+news\r\n");
  ASSERT_TRUE(it.connection.send(it.wait));
  EXPECT_TRUE(it.connection.next(it.wait));
  const auto more = it.connection.next(it.wait);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, base::ErrorCode::interrupted);
  // What is asked for anew is looked for anew.
  ASSERT_TRUE(it.connection.send(it.wait));
  EXPECT_TRUE(it.connection.next(it.wait));
}

TEST(Connection, ADrainComesToAnEndWhileMoreAndMoreIsSent) {
  // As many bytes as are read at once: there may always be more.
  Connected it(">1\r\n$4083\r\n" + std::string(4'083, 'x') + "\r\n");
  const auto drained = it.connection.drain();
  ASSERT_TRUE(drained);
  EXPECT_LE(drained->size(), 16U);
}

TEST(Connection, WritesEachArgumentAsItIs) {
  Connected it("+OK\r\n");
  it.connection.append({"", std::string("\0\r\n$", 4), std::string(1000, 'x')});
  it.connection.append({"PING"});
  ASSERT_TRUE(it.connection.send(it.wait));
  EXPECT_EQ(it.written, "*3\r\n$0\r\n\r\n$4\r\n" + std::string("\0\r\n$", 4) + "\r\n$1000\r\n" +
                            std::string(1000, 'x') + "\r\n*1\r\n$4\r\nPING\r\n");
}

}  // namespace
}  // namespace rlock::redis
