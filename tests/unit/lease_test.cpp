#include "lock/lease.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>

#include "base/permit.hpp"
#include "base/text/duration.hpp"

namespace rlock::lock {
namespace {

using namespace std::chrono_literals;
using base::Duration;
using base::Instant;

// The server may give the lock away ttl after the request was sent; its clock may run 1 % fast.
TEST(Lease, EndsBeforeTheServerCanGiveItAway) {
  for (const Duration ttl :
       {Duration(100), Duration(500), Duration(1'999), Duration(2s), Duration(30s), Duration(24h)}) {
    const auto terms = LeaseTerms::make(ttl, std::nullopt, Renewing::yes);
    ASSERT_TRUE(terms) << ttl.count();
    const Instant sent{1h};
    const auto earliest_expiry = sent + std::chrono::nanoseconds(ttl) * 99 / 100;
    EXPECT_LT(terms->deadline(sent), earliest_expiry) << ttl.count();
    EXPECT_GT(terms->deadline(sent) - terms->kill_after - terms->kill_time, terms->renew_at(sent)) << ttl.count();
  }
}

TEST(Lease, CountsSlackGraceAndKillTime) {
  const auto terms = LeaseTerms::make(30s, std::nullopt, Renewing::yes);
  ASSERT_TRUE(terms);
  EXPECT_EQ(terms->usable(), 30s - 300ms - 50ms);
  EXPECT_EQ(terms->kill_after, 5s);
  EXPECT_EQ(terms->kill_time, 1s);
  const auto brief = LeaseTerms::make(900ms, std::nullopt, Renewing::yes);
  ASSERT_TRUE(brief);
  EXPECT_EQ(brief->usable(), 900ms - 9ms - 11ms);
  EXPECT_EQ(brief->kill_after, 300ms);
  EXPECT_EQ(brief->kill_time, 90ms);
}

// The ttl that an error of usage says is large enough; nothing where it is another error, or names none.
std::optional<Duration> named_ttl(const base::Error& error) {
  const auto at = error.message.rfind("--ttl ");
  if (error.code != base::ErrorCode::usage || at == error.message.npos) return std::nullopt;
  const auto ttl = base::parse_duration(error.message.substr(at + 6, error.message.find(' ', at + 6) - at - 6));
  return ttl ? std::optional(*ttl) : std::nullopt;
}

TEST(Lease, NamesTheSmallestTtlThatHasRoomForTheGrace) {
  for (const Duration kill_after : {Duration(1s), Duration(7s), Duration(1min)}) {
    const auto refused = LeaseTerms::make(kill_after, kill_after, Renewing::yes);
    ASSERT_FALSE(refused);
    const auto& text = refused.error().message;
    const auto named = named_ttl(refused.error());
    ASSERT_TRUE(named) << text;
    EXPECT_TRUE(LeaseTerms::make(*named, kill_after, Renewing::yes)) << text;
    EXPECT_FALSE(LeaseTerms::make(*named - Duration(1), kill_after, Renewing::yes)) << text;
  }
}

// Where a look takes long, as without lists of children among many processes.
TEST(Lease, NamesTheSmallestTtlThatThisMachineCanKillIn) {
  for (const std::chrono::nanoseconds min_kill_time : {std::chrono::nanoseconds(80ms), std::chrono::nanoseconds(3s)}) {
    const auto refused = LeaseTerms::make(500ms, std::nullopt, Renewing::yes, min_kill_time);
    ASSERT_FALSE(refused);
    const auto named = named_ttl(refused.error());
    ASSERT_TRUE(named) << refused.error().message;
    EXPECT_EQ(*named, std::chrono::duration_cast<Duration>(10 * min_kill_time));
    const auto terms = LeaseTerms::make(*named, std::nullopt, Renewing::yes, min_kill_time);
    ASSERT_TRUE(terms);
    EXPECT_EQ(terms->kill_time, min_kill_time);
  }
  EXPECT_TRUE(LeaseTerms::make(500ms, std::nullopt, Renewing::yes, 50ms));
}

// Runs `look` in a process whose clock that counts the time asleep is so far ahead, as after a sleep, while the one
// that does not is as here. What look returned; nothing where such a process cannot be had.
std::optional<bool> after_a_sleep(std::chrono::seconds asleep, const std::function<bool()>& look) {
  // The first child is in no such namespace yet; its own children are.
  const pid_t outer = ::fork();
  if (outer == 0) {
    const std::string offset = "boottime " + std::to_string(asleep.count()) + " 0\n";
    const int file = ::unshare(CLONE_NEWTIME) == 0 ? ::open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC) : -1;
    if (file < 0 || ::write(file, offset.data(), offset.size()) < 0) ::_exit(2);
    const pid_t inner = ::fork();
    if (inner == 0) ::_exit(look() ? 0 : 1);
    int status = 0;
    ::_exit(inner > 0 && ::waitpid(inner, &status, 0) == inner && WIFEXITED(status) ? WEXITSTATUS(status) : 2);
  }
  int status = 0;
  if (outer < 0 || ::waitpid(outer, &status, 0) != outer || !WIFEXITED(status) || WEXITSTATUS(status) > 1) return {};
  return WEXITSTATUS(status) == 0;
}

TEST(Lease, IsOverAfterASuspendedNight) {
  const auto terms = LeaseTerms::make(30s, std::nullopt, Renewing::yes);
  ASSERT_TRUE(terms);
  auto permit = base::Permit::open(terms->deadline(base::BootClock::now()), terms->kill_after, terms->kill_time);
  ASSERT_TRUE(permit);
  const auto is_over = [&] { return base::BootClock::now() > permit->until(); };
  EXPECT_FALSE(is_over());
  const auto over = after_a_sleep(8h, is_over);
  if (!over) GTEST_SKIP() << "needs root and time namespaces";
  EXPECT_TRUE(*over);
}

TEST(Permit, OnlyMovesForward) {
  const Instant end{10s};
  auto permit = base::Permit::open(end, 2s, 1s);
  ASSERT_TRUE(permit);
  EXPECT_EQ(permit->stop_at(), Instant{7s});
  EXPECT_EQ(permit->kill_at(), Instant{9s});
  permit->extend(Instant{9s});
  EXPECT_EQ(permit->until(), end);
  permit->extend(Instant{12s});
  EXPECT_EQ(permit->until(), Instant{12s});
}

TEST(Permit, ARevocationCanBeWaitedFor) {
  auto permit = base::Permit::open(Instant{10s}, 2s, 1s);
  ASSERT_TRUE(permit);
  pollfd ready{permit->wake_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 0), 0);
  EXPECT_FALSE(permit->revoked());
  permit->revoke(base::Permit::Loss::gone);
  EXPECT_EQ(::poll(&ready, 1, 0), 1);
  EXPECT_TRUE(permit->revoked());
}

}  // namespace
}  // namespace rlock::lock
