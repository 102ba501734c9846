// The renewal thread, against a backend that answers as no server would on demand.
#include "lock/renewal.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "fake_backend.hpp"

namespace rlock::lock {
namespace {

using namespace std::chrono_literals;
using base::BootClock;
using base::ErrorCode;
using Holder = Ownership::Holder;
using Loss = base::Permit::Loss;

constexpr base::Duration ttl = 600ms;
const Request request{Name{"k", "k"}, "token", ttl, {}};

base::Result<Ownership> ours() { return Ownership{Holder::us, 7, BootClock::now()}; }
base::Result<Ownership> unshaped() { return base::fail(ErrorCode::internal, "not understood"); }
base::Result<Ownership> unanswered() { return base::fail(ErrorCode::unreachable, "no answer"); }

class RenewalTest : public testing::Test {
 protected:
  RenewalTest()
      : start(BootClock::now()),
        permit(std::move(*base::Permit::open(terms.deadline(start), terms.kill_after, terms.kill_time))),
        renewal(holding, Lease{"token", 7, start}, terms, permit) {}

  /// Waits for a condition, at most some seconds; whether it came true.
  static bool comes(auto condition) {
    const auto end = BootClock::now() + 10s;
    while (!condition() && BootClock::now() < end) base::PlainPoller().wait({}, BootClock::now() + 1ms);
    return condition();
  }
  bool renewed_times(int n) {
    return comes([&] { return backend.count(backend.renewals) >= n; });
  }

  LeaseTerms terms = *LeaseTerms::make(ttl, std::nullopt, Renewing::yes);
  base::Instant start;
  base::Permit permit;
  FakeBackend backend;
  OneLease holding{backend, request};
  Renewal renewal;
};

TEST_F(RenewalTest, ExtendsThePermitFromWhenTheRequestWasSent) {
  const auto sent = start + 100ms;
  backend.renewed = {[=] { return Ownership{Holder::us, 7, sent}; }, unanswered};
  ASSERT_TRUE(renewal.start());
  ASSERT_TRUE(renewed_times(2));
  renewal.stop();
  EXPECT_EQ(permit.until(), terms.deadline(sent));
}

TEST_F(RenewalTest, AnAnswerThatComesAfterItsOwnDeadlineProvesNothing) {
  backend.renewed = {[&] { return Ownership{Holder::us, 7, start - 2 * ttl}; }};
  ASSERT_TRUE(renewal.start());
  ASSERT_TRUE(renewed_times(3));
  renewal.stop();
  EXPECT_EQ(permit.until(), terms.deadline(start));
  EXPECT_EQ(permit.loss(), Loss::none);
}

TEST_F(RenewalTest, AnAnswerOfTheWrongShapeIsAskedAgainAndIsNoLoss) {
  backend.renewed = {unshaped, unshaped, ours};
  ASSERT_TRUE(renewal.start());
  ASSERT_TRUE(comes([&] { return permit.until() > terms.deadline(start); }));
  EXPECT_EQ(permit.loss(), Loss::none);
}

TEST_F(RenewalTest, NoAnswerIsAskedAgainAndIsNoLoss) {
  backend.renewed = {unanswered, unanswered, ours};
  ASSERT_TRUE(renewal.start());
  ASSERT_TRUE(comes([&] { return permit.until() > terms.deadline(start); }));
  EXPECT_EQ(permit.loss(), Loss::none);
}

TEST_F(RenewalTest, TellsALockThatIsGoneFromOneThatSomebodyElseHas) {
  for (const auto& [found, loss] : {std::pair(Ownership{Holder::nobody}, Loss::gone),
                                    std::pair(Ownership{Holder::us, 8, BootClock::now()}, Loss::gone),
                                    std::pair(Ownership{Holder::other}, Loss::taken)}) {
    auto fresh = std::move(*base::Permit::open(terms.deadline(start), terms.kill_after, terms.kill_time));
    FakeBackend other;
    other.renewed = {[found] { return found; }};
    OneLease held(other, request);
    Renewal one(held, Lease{"token", 7, start}, terms, fresh);
    ASSERT_TRUE(one.start());
    EXPECT_TRUE(comes([&] { return fresh.loss() == loss; }));
  }
}

TEST_F(RenewalTest, ALockThatWasReleasedWithOurTokenIsNoLossWhereThatIsItsEnd) {
  for (const auto holder : {Holder::nobody, Holder::other}) {
    for (const auto on_release : {OnRelease::end, OnRelease::lost}) {
      auto fresh = std::move(*base::Permit::open(terms.deadline(start), terms.kill_after, terms.kill_time));
      FakeBackend other;
      other.renewed = {[holder] { return Ownership{.holder = holder, .is_released = true}; }};
      OneLease held(other, request);
      Renewal one(held, Lease{"token", 7, start}, terms, fresh, on_release);
      ASSERT_TRUE(one.start());
      EXPECT_TRUE(comes([&] { return fresh.revoked(); }));
      EXPECT_EQ(fresh.loss() == Loss::released, on_release == OnRelease::end);
    }
  }
}

TEST_F(RenewalTest, AReclaimedLockCountsOnlyBeforeTheEndOfTheLeaseOfBefore) {
  const auto reclaimed = [] {
    return Ownership{.holder = Holder::us, .fence = 7, .counts_from = BootClock::now(), .is_reclaimed = true};
  };
  backend.renewed = {reclaimed, [&] {
                       while (BootClock::now() < permit.until()) base::PlainPoller().wait({}, permit.until());
                       return reclaimed();
                     }};
  ASSERT_TRUE(renewal.start());
  ASSERT_TRUE(comes([&] { return permit.until() > terms.deadline(start); }));
  const auto until = permit.until();
  EXPECT_TRUE(comes([&] { return permit.loss() == Loss::gone; }));
  EXPECT_EQ(permit.until(), until);
}

TEST_F(RenewalTest, ACheckThatFindsNobodyLeavesItToARenewalToReclaim) {
  backend.renewed = {ours};
  backend.checked = {[] { return Ownership{}; }};
  ASSERT_TRUE(renewal.start());
  ASSERT_TRUE(renewed_times(1));
  backend.tell({.touched = true});
  ASSERT_TRUE(renewed_times(2));
  EXPECT_EQ(backend.count(backend.checks), 1);
  EXPECT_EQ(permit.loss(), Loss::none);
}

TEST_F(RenewalTest, AServerThatIsGoneTookTheLockAlong) {
  backend.renewed = {[] { return base::Result<Ownership>(base::fail(ErrorCode::gone, "gone")); }};
  ASSERT_TRUE(renewal.start());
  EXPECT_TRUE(comes([&] { return permit.loss() == Loss::taken; }));
}

TEST_F(RenewalTest, ATouchIsAnsweredWithALookThatRenewsNothing) {
  backend.renewed = {ours};
  backend.checked = {ours, [] { return Ownership{Holder::other}; }};
  ASSERT_TRUE(renewal.start());
  ASSERT_TRUE(renewed_times(1));
  backend.tell({.touched = true});
  ASSERT_TRUE(comes([&] { return backend.count(backend.checks) == 1; }));
  EXPECT_EQ(permit.loss(), Loss::none);
  backend.tell({.touched = true});
  EXPECT_TRUE(comes([&] { return permit.loss() == Loss::taken; }));
}

TEST_F(RenewalTest, ALockThatIsGoneIsWatchedOnWhenTheConnectionBreaks) {
  backend.renewed = {[] { return Ownership{Holder::nobody}; }};
  backend.checked = {unanswered, [] { return Ownership{Holder::nobody}; }, [] { return Ownership{Holder::other}; }};
  ASSERT_TRUE(renewal.start());
  ASSERT_TRUE(comes([&] { return permit.loss() == Loss::gone; }));
  backend.break_connection();
  EXPECT_TRUE(comes([&] { return permit.loss() == Loss::taken; }));
}

TEST_F(RenewalTest, NobodyForksWhileTheThreadIsAtWork) {
  std::atomic<bool> is_at_work = false;
  std::atomic<bool> may_go_on = false;
  backend.renewed = {[&] {
                       is_at_work = true;
                       while (!may_go_on) base::PlainPoller().wait({}, BootClock::now() + 1ms);
                       return ours();
                     },
                     [] { return Ownership{Holder::nobody}; }};
  ASSERT_TRUE(renewal.start());
  ASSERT_TRUE(comes([&] { return is_at_work.load(); }));
  bool has_forked = false;
  EXPECT_FALSE(renewal.while_asleep([&] { has_forked = true; }));
  EXPECT_FALSE(has_forked);
  may_go_on = true;
  EXPECT_TRUE(comes([&] { return renewal.while_asleep([&] { has_forked = true; }); }));
  EXPECT_TRUE(has_forked);
  // Nor while it ends: it waits until it is stopped.
  ASSERT_TRUE(comes([&] { return permit.loss() == Loss::gone; }));
  EXPECT_TRUE(comes([&] { return renewal.while_asleep([] {}); }));
}

TEST_F(RenewalTest, ChangesThatAreNoneAreNotLookedIntoWithoutAnEnd) {
  backend.renewed = {ours};
  backend.checked = {ours};
  for (int i = 0; i < 1'000; ++i) backend.tell({.touched = true});
  ASSERT_TRUE(renewal.start());
  ASSERT_TRUE(comes([&] { return backend.count(backend.unwatched) > 0; }));
  const int checks = backend.count(backend.checks);
  EXPECT_LE(checks, 8 * (backend.count(backend.renewals) + 1));
  EXPECT_EQ(permit.loss(), Loss::none);
}

TEST_F(RenewalTest, MessagesWithoutAnEndKeepNoRenewalFromItsTime) {
  backend.renewed = {ours};
  backend.is_noisy = true;
  backend.tell({});
  ASSERT_TRUE(renewal.start());
  EXPECT_TRUE(renewed_times(3));
}

TEST_F(RenewalTest, OnceItIsStoppedItUsesTheHoldingNoMore) {
  backend.renewed = {ours};
  backend.checked = {ours};
  ASSERT_TRUE(renewal.start());
  ASSERT_TRUE(renewed_times(1));
  renewal.stop();
  const int renewals = backend.count(backend.renewals);
  // As the answer to a release would, this wakes the thread, if it sleeps.
  backend.tell({.touched = true});
  base::PlainPoller().wait({}, BootClock::now() + ttl);
  EXPECT_EQ(backend.count(backend.renewals), renewals);
  EXPECT_EQ(backend.count(backend.checks), 0);
}

}  // namespace
}  // namespace rlock::lock
