// R36 and R37 of tests/PROOFS.md: whatever numbers a server says, and however much of it. What these tests do not
// assert the presets asan finds: each arithmetic with a forged number is done here once.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>

#include "base/text/bounds.hpp"
#include "base/wait/retry.hpp"
#include "forged_server.hpp"
#include "lock/acquire.hpp"
#include "lock/lease.hpp"
#include "show/json.hpp"
#include "show/prometheus.hpp"
#include "show/status_table.hpp"
#include "show/waiting.hpp"
#include "stores/redis/single_server.hpp"

namespace rlock::redis {
namespace {

using namespace std::chrono_literals;
using base::BootClock;
using Numbers = std::vector<std::int64_t>;

constexpr auto least = std::numeric_limits<std::int64_t>::min();
constexpr auto most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t longest_of_go = 9'223'372'036'854;  // milliseconds: nanoseconds reach no further
const Numbers forged{least, least + 1, -longest_of_go - 1, -2, 0, longest_of_go, longest_of_go + 1, most / 1000, most};

std::string bulk(const std::string& text) { return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n"; }
std::string number(std::int64_t value) { return ":" + std::to_string(value) + "\r\n"; }
std::string array(std::vector<std::string> items) {
  auto all = "*" + std::to_string(items.size()) + "\r\n";
  for (const auto& item : items) all += item;
  return all;
}
std::string record(std::int64_t value) {
  const auto text = std::to_string(value);
  return "1 s " + text + " " + text + " " + text + " 1 host user command";
}
std::string last_run(std::int64_t value) {
  const auto text = std::to_string(value);
  return "1 " + text + " " + text + " " + text + " " + text + " " + text + " 0 " + text + " " + text + " 1 host user c";
}

const lock::Request request{{"k", "k"}, "token", 30s, {}};

class ForgedAnswers : public testing::Test {
 protected:
  // Of a script; to what goes before it in a flight, what a server says.
  ForgedServer server{[this](const std::vector<std::string>& command) -> std::string {
    if (command[0] == "EVALSHA" || command[0] == "WAIT") return script;
    if (command[0] == "SUBSCRIBE") {
      std::string all;
      for (int i = 1; i <= 2; ++i)
        all += ">3\r\n" + bulk("subscribe") + bulk(command[static_cast<std::size_t>(i)]) + number(i);
      return all;
    }
    return "+OK\r\n";
  }};
  std::string script;
  base::PlainPoller plain;
  SingleServer backend{server.session(5s), plain_scripts};

  base::Wait wait(base::Duration time = 5s) { return {BootClock::now() + time, plain}; }
};

TEST_F(ForgedAnswers, AWaiterLooksAgainInTimeAndNotWithoutAPause) {
  for (const auto value : forged) {
    for (std::size_t at = 1; at < 7; ++at) {
      std::vector<std::string> items{number(0), number(1'700'000'000'000'000), number(0), number(5'000),
                                     number(1), bulk(record(value)),           number(0)};
      if (at != 5) items[at] = number(value);
      script = array(items);
      SingleServer waiter(server.session(5s), plain_scripts);
      const auto acquired = waiter.acquire(request, lock::Queue::yes, wait());
      ASSERT_TRUE(acquired) << acquired.error().message;
      const auto& busy = std::get<lock::Busy>(*acquired);
      EXPECT_LT(busy.look_at - BootClock::now(), 200s) << value << " as item " << at;
      // A lease that has just ended is looked at at once, and then again with a pause: only a first, foreign one.
      if (value > 0 && at == 3) {
        EXPECT_GT(busy.look_at, BootClock::now()) << value;
      }
      EXPECT_GE(busy.rank, -1);
      EXPECT_GE(busy.ticket, 0);
      base::Event event = *base::Event::open();
      pollfd fd{event.fd(), POLLIN, 0};
      base::poll_until({&fd, 1}, std::min(busy.look_at, BootClock::now() + 1ms), nullptr);
      show::Waiting("k", plain).busy(request, "it", busy);
    }
  }
}

TEST_F(ForgedAnswers, AGrantHasAFence) {
  for (const auto value : forged) {
    if (value > 0 && value <= base::max_counted) continue;
    script = array({number(1), number(value), bulk("")});
    const auto acquired = backend.acquire(request, lock::Queue::no, wait());
    ASSERT_FALSE(acquired) << value;
    EXPECT_EQ(acquired.error().code, base::ErrorCode::internal);
  }
}

TEST_F(ForgedAnswers, ALeaseIsHeldThoughItsFenceIsNone) {
  for (const auto value : forged) {
    if (value > 0 && value <= base::max_counted) continue;
    script = array({number(1), number(value), bulk("")});
    const auto renewed = backend.renew(request, lock::Watch::no, wait());
    ASSERT_TRUE(renewed) << value;
    EXPECT_TRUE(renewed->is_of_lease(7)) << value;
    script = array({number(1), number(value), bulk(record(value)), bulk("x")});
    const auto checked = backend.check(request, wait());
    ASSERT_TRUE(checked) << value;
    EXPECT_TRUE(checked->is_of_lease(7)) << value;
  }
}

TEST_F(ForgedAnswers, OtherAnswersAreReadToo) {
  for (const auto value : forged) {
    script = array({number(2), number(value), bulk(last_run(value))});
    auto satisfied = request;
    satisfied.once = 1s;
    const auto acquired = backend.acquire(satisfied, lock::Queue::no, wait());
    ASSERT_TRUE(acquired) << value;
    EXPECT_GE(std::get<lock::AlreadySucceeded>(*acquired).ago, 0ms);
    EXPECT_LE(std::get<lock::AlreadySucceeded>(*acquired).ago, base::max_span);

    script = array({number(value), number(value)});
    (void)backend.renew(request, lock::Watch::no, wait());
    (void)backend.check(request, wait());
    script = number(value);
    (void)backend.raise_fence(request, 7, wait());
    script = array({number(value), bulk(record(value))});
    (void)backend.release(request, {.force = lock::Force::yes}, wait());

    script = number(value);
    (void)Protocol(server.session(5s), plain_scripts, {.replicas = 1}).replicated(request, wait());
  }
}

TEST_F(ForgedAnswers, StatusShowsThem) {
  for (const auto value : forged) {
    for (const auto other : forged) {
      const auto held = record(value);
      script = array({bulk("held"), bulk(held), number(value), number(other), number(value),
                      array({bulk(std::to_string(other)), bulk(held)}), bulk(last_run(value)), bulk("s"),
                      array({bulk(held), number(other), bulk(record(other)), number(value)})});
      const std::string key = "rlock:k";
      const auto snapshots = backend.inspect({&key, 1}, 10, wait());
      ASSERT_TRUE(snapshots) << snapshots.error().message;
      const show::ListedLock lock{"k", snapshots->front()};
      const std::vector<show::ListedLock> all{lock};
      const auto text = show::lock_json(lock) + show::metrics(all, 0);
      EXPECT_EQ(text.find("-9"), text.npos) << text;
      (void)show::list_lines(all, {});
      (void)show::detail_lines(lock, {});
    }
  }
}

TEST_F(ForgedAnswers, AListWithoutAnEndComesToOne) {
  ForgedServer endless(
      [](const std::vector<std::string>&) { return array({bulk("17"), array({bulk("rlock:i:{k}")})}); });
  auto session = endless.session(5s);
  const auto found = list(session, "rlock:", wait(50ms));
  ASSERT_FALSE(found);
  EXPECT_TRUE(base::may_pass(found.error()));
}

// ---------------------------------------------------------------- messages

std::string message(const std::string& channel, const std::string& text) {
  return ">3\r\n" + bulk("message") + bulk(channel) + bulk(text);
}

TEST_F(ForgedAnswers, MessagesWithoutAnEndKeepNobodyFromTheEndOfAWait) {
  // More than a socket takes: the server is always at it.
  std::string flood;
  while (flood.size() < 64U << 20U) flood += message("other", std::string(8'000, 'x'));
  ForgedServer flooding(
      [&](const std::vector<std::string>& command) { return command[0] == "EVALSHA" ? flood : "+OK\r\n"; });
  SingleServer waiter(flooding.session(200ms), plain_scripts);
  const auto acquired = waiter.acquire(request, lock::Queue::no, wait(100ms));
  ASSERT_FALSE(acquired);
  EXPECT_EQ(acquired.error().code, base::ErrorCode::unreachable);
}

}  // namespace
}  // namespace rlock::redis
