// The loop of a waiter, against a backend that answers as no server would on demand.
#include <gtest/gtest.h>

#include "fake_backend.hpp"
#include "lock/acquire.hpp"

namespace rlock::lock {
namespace {

using namespace std::chrono_literals;
using base::BootClock;
using base::ErrorCode;
using base::Instant;

const Request request{Name{"k", "k"}, "token", 30s, {}};
const LeaseTerms terms{30s, 1s, 1s};

base::Result<Acquired> grant() { return Grant{7, BootClock::now()}; }
base::Result<Acquired> late_grant() { return Grant{7, BootClock::now() - 29s}; }
base::Result<Acquired> busy_for_ever() { return Busy{.rank = 0}; }
base::Result<Acquired> busy_for_a_moment() { return Busy{.rank = 0, .look_at = BootClock::now() + 5ms}; }
base::Result<Acquired> unanswered() { return base::fail(ErrorCode::unreachable, "no answer"); }
base::Result<Acquired> unshaped() { return base::fail(ErrorCode::internal, "not understood"); }

/// Broken off from the beginning, as by a signal that has come.
class BrokenOff final : public base::Poller {
 public:
  base::Readiness wait(std::span<pollfd>, Instant) override { return base::Readiness::interrupted; }
};

/// For which no time passes: it notes the longest pause between tries.
class Hasty final : public base::Poller {
 public:
  base::Readiness wait(std::span<pollfd> fds, Instant until) override {
    if (fds.empty()) longest = std::max<Instant::duration>(longest, until - BootClock::now());
    return base::Readiness::timed_out;
  }
  Instant::duration longest{};
};

class AcquisitionTest : public testing::Test {
 protected:
  base::Result<std::optional<Lease>> acquire(std::optional<base::Duration> wait) {
    base::PlainPoller plain;
    return Acquisition(backend, request, terms, plain).acquire(Patience::of(wait));
  }
  FakeBackend backend;
};

TEST_F(AcquisitionTest, AFreeLockTakesOneStepAndNoPlaceInTheQueue) {
  backend.acquired = {grant};
  const auto lease = acquire(std::nullopt);
  ASSERT_TRUE(lease && *lease);
  EXPECT_EQ((*lease)->fence, 7U);
  EXPECT_EQ(backend.acquires, std::vector{Queue::no});
  EXPECT_EQ(backend.releases, 0);
}

TEST_F(AcquisitionTest, ALostMessageCostsNoMoreThanTheLookThatTheBackendNamed) {
  backend.acquired = {busy_for_a_moment, busy_for_a_moment, grant};
  const auto lease = acquire(std::nullopt);
  ASSERT_TRUE(lease && *lease);
  EXPECT_EQ(backend.acquires, (std::vector{Queue::no, Queue::yes, Queue::yes}));
}

TEST_F(AcquisitionTest, AMessageIsNoGrantBeforeTheBackendConfirmsIt) {
  backend.acquired = {busy_for_ever, busy_for_ever, busy_for_a_moment, grant};
  backend.tell({.granted = true});
  const auto lease = acquire(std::nullopt);
  ASSERT_TRUE(lease && *lease);
  EXPECT_EQ(backend.acquires.size(), 4U);
}

TEST_F(AcquisitionTest, AnEventMayBringTheLookForward) {
  backend.acquired = {busy_for_ever, busy_for_ever, grant};
  backend.tell({.look_at = BootClock::now() + 5ms});
  const auto lease = acquire(std::nullopt);
  ASSERT_TRUE(lease && *lease);
}

TEST_F(AcquisitionTest, AGrantThatIsOverWhenItArrivesIsAskedForAgain) {
  backend.acquired = {late_grant, grant};
  const auto lease = acquire(std::nullopt);
  ASSERT_TRUE(lease && *lease);
  EXPECT_EQ(backend.acquires.size(), 2U);
}

TEST_F(AcquisitionTest, GrantsThatAreAlwaysOverFailAndAreGivenBack) {
  backend.acquired = {late_grant};
  const auto lease = acquire(std::nullopt);
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, ErrorCode::unready);
  EXPECT_EQ(backend.releases, 1);
}

TEST_F(AcquisitionTest, AnUnansweredRequestIsAskedOnceMoreAtOnce) {
  backend.acquired = {unanswered, grant};
  const auto lease = acquire(0ms);
  ASSERT_TRUE(lease && *lease);
  EXPECT_EQ(backend.acquires, (std::vector{Queue::no, Queue::no}));
}

TEST_F(AcquisitionTest, WhatMayHaveBeenGrantedUnheardIsGivenBackBeforeItIsCalledBusy) {
  backend.acquired = {unanswered, busy_for_ever};
  const auto lease = acquire(0ms);
  ASSERT_TRUE(lease);
  EXPECT_FALSE(*lease);
  EXPECT_EQ(backend.releases, 1);
}

TEST_F(AcquisitionTest, AnAnswerOfTheWrongShapeIsAnErrorAndNeverBusy) {
  for (const auto first : {unshaped, busy_for_a_moment}) {
    backend.acquired = {first, unshaped};
    const auto lease = acquire(1h);
    ASSERT_FALSE(lease);
    EXPECT_EQ(lease.error().code, ErrorCode::internal);
  }
  EXPECT_EQ(backend.releases, 2);
}

TEST_F(AcquisitionTest, AServerThatStaysAwayEndsTheWaitWithItsErrorNotWithBusy) {
  backend.acquired = {unanswered};
  const auto lease = acquire(50ms);
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, ErrorCode::unreachable);
}

TEST_F(AcquisitionTest, TheTimeToWaitEndsInBusyAndOutOfTheQueue) {
  backend.acquired = {busy_for_ever};
  const auto lease = acquire(20ms);
  ASSERT_TRUE(lease);
  EXPECT_FALSE(*lease);
  EXPECT_EQ(backend.acquires, (std::vector{Queue::no, Queue::yes}));
  EXPECT_EQ(backend.releases, 1);
}

// The longest pause of a waiter that was last told this rank, while nobody answers.
Instant::duration longest_pause(std::int64_t rank) {
  FakeBackend backend;
  Hasty hasty;
  const auto busy = [rank]() -> base::Result<Acquired> { return Busy{.rank = rank}; };
  backend.acquired = {busy, busy};
  backend.acquired.insert(backend.acquired.end(), 30, unanswered);
  backend.acquired.emplace_back(grant);
  const auto lease = Acquisition(backend, request, terms, hasty).acquire({});
  EXPECT_TRUE(lease && *lease);
  return hasty.longest;
}

// Its rank is an old one: all ahead may have had their turn since, and the lock may be free.
TEST_F(AcquisitionTest, AfterAnOutageThoseFarBackComeLaterButNotByASecond) {
  EXPECT_LE(longest_pause(0), 500ms);
  EXPECT_GT(longest_pause(20), 500ms);
  EXPECT_LE(longest_pause(255), 800ms);
  EXPECT_GT(longest_pause(256), 1s);
}

TEST_F(AcquisitionTest, MessagesWithoutAnEndKeepNobodyFromTheEndOfAWait) {
  backend.acquired = {busy_for_ever};
  backend.is_noisy = true;
  backend.tell({});
  const auto lease = acquire(50ms);
  ASSERT_TRUE(lease);
  EXPECT_FALSE(*lease);
}

TEST_F(AcquisitionTest, ASignalLeavesTheQueue) {
  backend.acquired = {busy_for_ever};
  BrokenOff broken_off;
  const auto lease = Acquisition(backend, request, terms, broken_off).acquire({});
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, ErrorCode::interrupted);
  EXPECT_EQ(backend.releases, 1);
}

}  // namespace
}  // namespace rlock::lock
