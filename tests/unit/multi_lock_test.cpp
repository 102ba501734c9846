// Several keys as one, each against a backend that answers as no server would on demand.
#include "lock/multi_lock.hpp"

#include <gtest/gtest.h>

#include <map>

#include "fake_backend.hpp"

namespace rlock::lock {
namespace {

using namespace std::chrono_literals;
using base::BootClock;
using base::ErrorCode;
using base::Instant;
using Holder = Ownership::Holder;
using Outcome = MultiLock::Outcome;

constexpr base::Duration ttl = 600ms;

base::Result<Acquired> grant() { return Grant{7, BootClock::now()}; }
base::Result<Acquired> busy() { return Busy{.rank = 0, .look_at = BootClock::now() + 20ms}; }
base::Result<Ownership> ours() { return Ownership{Holder::us, 7, BootClock::now()}; }
base::Result<Ownership> of_another() { return Ownership{.holder = Holder::other}; }
base::Result<Ownership> unanswered() { return base::fail(ErrorCode::unreachable, "no answer"); }
base::Result<Released> not_ours() { return Released{ReleaseOutcome::not_owner}; }
base::Result<Released> no_answer() { return base::fail(ErrorCode::unreachable, "no answer"); }

class MultiLockTest : public testing::Test {
 protected:
  using Script = std::function<void(FakeBackend&)>;

  /// script: what the backend of this key will answer; the second one, where there is a second.
  void add(const std::string& key, const Script& script = {}, const Script& again = {}) {
    scripts[key] = {script, again};
    keys.add({named(key), {}, ttl, {}}, open(named(key)));
  }
  std::unique_ptr<Backend> open(const Name& name) {
    auto backend = std::make_unique<FakeBackend>();
    backend->acquired = {grant};
    backend->renewed = {ours};
    auto& scripts_of_key = scripts[name.key];
    const auto& script = scripts_of_key[std::min<std::size_t>(opened[name.key].size(), 1)];
    if (script) script(*backend);
    opened[name.key].push_back(backend.get());
    return backend;
  }
  FakeBackend& at(const std::string& key, std::size_t n = 0) { return *opened[key].at(n); }

  base::Result<Outcome> acquire(std::optional<base::Duration> wait = std::nullopt) {
    return keys.acquire(Patience::of(wait), plain);
  }
  base::Result<Ownership> renew() { return keys.renew(Watch::yes, {BootClock::now() + 1s, plain}); }
  base::Result<Released> release() { return keys.release({BootClock::now() + 1s, plain}); }

  base::PlainPoller plain;
  std::map<std::string, std::array<Script, 2>> scripts;
  std::map<std::string, std::vector<FakeBackend*>> opened;
  LeaseTerms terms = *LeaseTerms::make(ttl, std::nullopt, Renewing::yes);
  MultiLock keys{terms, [this](const Name& name) { return open(name); }};
};

TEST_F(MultiLockTest, KeysAreAcquiredInTheOrderOfTheirNames) {
  add("c");
  add("a");
  add("b", [](auto& backend) { backend.acquired = {busy}; });
  EXPECT_EQ(acquire(0ms), Outcome::busy);
  EXPECT_EQ(keys.busy_key(), "b");
  EXPECT_EQ(at("a").acquires.size(), 1U);
  EXPECT_EQ(at("a").releases, 1);
  EXPECT_TRUE(at("c").acquires.empty());
  EXPECT_EQ(at("c").releases, 0);
}

TEST_F(MultiLockTest, AKeyIsRenewedWhileALaterOneIsWaitedFor) {
  add("a");
  add("b", [](auto& backend) { backend.acquired = {busy}; });
  EXPECT_EQ(acquire(3 * ttl), Outcome::busy);
  EXPECT_GE(at("a").renewals, 5);
  EXPECT_EQ(at("a").releases, 1);
}

TEST_F(MultiLockTest, OneThatIsLostWhileALaterOneIsWaitedForMakesAllBeginAgain) {
  add("a", [](auto& backend) { backend.renewed = {of_another}; });
  add("b", [](auto& backend) { backend.acquired = {busy}; });
  EXPECT_EQ(acquire(), Outcome::held);
  EXPECT_EQ(opened["a"].size(), 2U);
  EXPECT_EQ(opened["b"].size(), 2U);
}

TEST_F(MultiLockTest, WhatWasAcquiredBeforeAWaitIsRenewedBeforeTheCommandStarts) {
  add("a");
  add("b", [](auto& backend) { backend.acquired = {busy, busy, grant}; });
  add("c");
  EXPECT_EQ(acquire(), Outcome::held);
  EXPECT_EQ(at("a").renewals, 1);
  EXPECT_EQ(at("b").renewals, 0);
  EXPECT_EQ(at("c").renewals, 0);
}

TEST_F(MultiLockTest, TheLeaseIsTheEarliestOfAll) {
  add("b");
  add("a");
  ASSERT_EQ(acquire(), Outcome::held);
  const auto sent = BootClock::now();
  at("a").renewed = {[=] { return Ownership{Holder::us, 7, sent + 20ms}; }};
  at("b").renewed = {[=] { return Ownership{Holder::us, 7, sent + 10ms}; }};
  const auto ownership = renew();
  ASSERT_TRUE(ownership);
  EXPECT_EQ(ownership->counts_from, sent + 10ms);
  EXPECT_EQ(keys.lease().counts_from, sent + 10ms);
}

TEST_F(MultiLockTest, OneThatDoesNotAnswerIsAskedAgainAloneAndTheLeaseDoesNotMoveUntilItDoes) {
  add("a");
  add("b");
  ASSERT_EQ(acquire(), Outcome::held);
  at("b").renewed = {unanswered, unanswered, ours};
  EXPECT_FALSE(renew());
  EXPECT_EQ(keys.concerned_key(), "b");
  EXPECT_FALSE(renew());
  EXPECT_TRUE(renew());
  EXPECT_EQ(at("a").renewals, 1);
  EXPECT_EQ(at("b").renewals, 3);
  EXPECT_TRUE(renew());
  EXPECT_EQ(at("a").renewals, 2);
}

TEST_F(MultiLockTest, TheLossOfOneIsTheLossOfAll) {
  add("a");
  add("b");
  ASSERT_EQ(acquire(), Outcome::held);
  at("b").renewed = {of_another};
  const auto ownership = renew();
  ASSERT_TRUE(ownership);
  EXPECT_EQ(ownership->holder, Holder::other);
  EXPECT_EQ(keys.concerned_key(), "b");
}

TEST_F(MultiLockTest, AnotherFenceIsAnotherLease) {
  add("a");
  add("b");
  ASSERT_EQ(acquire(), Outcome::held);
  at("b").renewed = {[] { return Ownership{Holder::us, 8, BootClock::now()}; }};
  EXPECT_EQ(renew()->holder, Holder::nobody);
}

TEST_F(MultiLockTest, AReclaimCountsBeforeTheEndOfTheLeaseOfThatKeyAlone) {
  add("a");
  add("b");
  ASSERT_EQ(acquire(), Outcome::held);
  const auto reclaimed = [] {
    return Ownership{.holder = Holder::us, .fence = 7, .counts_from = BootClock::now(), .is_reclaimed = true};
  };
  at("b").renewed = {reclaimed};
  EXPECT_EQ(renew()->holder, Holder::us);
  plain.wait({}, BootClock::now() + ttl);
  EXPECT_EQ(renew()->holder, Holder::nobody);
}

TEST_F(MultiLockTest, AKeyThatACheckHasFoundFreeMayBeReclaimedByARenewal) {
  add("a");
  add("b");
  ASSERT_EQ(acquire(), Outcome::held);
  at("a").checked = {ours};
  at("b").checked = {[] { return Ownership{}; }};
  EXPECT_EQ(keys.check({BootClock::now() + 1s, plain})->holder, Holder::nobody);
  EXPECT_EQ(renew()->holder, Holder::us);
}

TEST_F(MultiLockTest, ARepeatedReleaseAsksForThoseThatAreNotReleasedYet) {
  add("a");
  add("b");
  ASSERT_EQ(acquire(), Outcome::held);
  at("b").released = {no_answer, [] { return Released{ReleaseOutcome::released}; }};
  EXPECT_FALSE(release());
  EXPECT_EQ(keys.concerned_key(), "b");
  EXPECT_EQ(release()->outcome, ReleaseOutcome::released);
  EXPECT_EQ(at("a").releases, 1);
  EXPECT_EQ(at("b").releases, 2);
}

TEST_F(MultiLockTest, WhatAnAcquisitionCouldNotReleaseIsNotTriedAgain) {
  add("a", [](FakeBackend& backend) {
    backend.acquired = {busy, [] { return base::fail(ErrorCode::configuration, "refused"); }};
    backend.released = {[] { return base::fail(ErrorCode::configuration, "refused"); }};
  });
  EXPECT_FALSE(acquire());
  EXPECT_TRUE(keys.is_left());
  EXPECT_EQ(at("a").releases, 1);
}

TEST_F(MultiLockTest, OneThatWasLostSaysMoreThanOneThatIsNotReleasedYet) {
  add("a");
  add("b");
  add("c");
  ASSERT_EQ(acquire(), Outcome::held);
  at("a").released = {not_ours};
  at("b").released = {no_answer};
  const auto released = release();
  ASSERT_TRUE(released);
  EXPECT_EQ(released->outcome, ReleaseOutcome::not_owner);
  EXPECT_FALSE(released->is_everywhere);
  EXPECT_EQ(keys.concerned_key(), "a");
}

TEST_F(MultiLockTest, AKeyThatIsHeldAroundIsRenewedAndNotReleased) {
  keys.add_held({named("z"), "theirs", ttl, {}}, open(named("z")), Lease{"theirs", 7, BootClock::now()});
  add("a", [](auto& backend) { backend.acquired = {busy}; });
  EXPECT_EQ(acquire(2 * ttl), Outcome::busy);
  EXPECT_GE(at("z").renewals, 3);
  EXPECT_EQ(at("z").releases, 0);
}

TEST_F(MultiLockTest, TheLossOfAKeyThatIsHeldAroundCannotBeMendedByBeginningAgain) {
  scripts["z"] = {[](auto& backend) { backend.renewed = {of_another}; }};
  keys.add_held({named("z"), "theirs", ttl, {}}, open(named("z")), Lease{"theirs", 7, BootClock::now()});
  add("a", [](auto& backend) { backend.acquired = {busy}; });
  EXPECT_EQ(acquire(), Outcome::lost);
  EXPECT_EQ(keys.concerned_key(), "z");
}

TEST_F(MultiLockTest, OneKeyPassesEverythingOn) {
  add("a");
  ASSERT_EQ(acquire(), Outcome::held);
  at("a").renewed = {unanswered, ours};
  EXPECT_EQ(renew().error().message, "no answer");
  EXPECT_EQ(renew()->fence, 7U);
  at("a").released = {not_ours};
  EXPECT_EQ(release()->outcome, ReleaseOutcome::not_owner);
}

}  // namespace
}  // namespace rlock::lock
