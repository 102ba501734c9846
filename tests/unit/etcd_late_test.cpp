// Requests to etcd that come late, are not answered, or are sent twice; and several processes with one token.
#include <algorithm>

#include "etcd_fixture.hpp"

namespace rlock::etcd {
namespace {

class EtcdLateTest : public EtcdStoreTest {
 protected:
  static void revoke(const nlohmann::json& lease) {
    const Call call{"/v3/lease/revoke", {{"ID", lease}}};
    (void)client_of(*etcd_)->flight({&call, 1}, wait());
  }
};

TEST_F(EtcdLateTest, ARenewalThatComesLateLeavesTheEntryWhereItIs) {
  auto one = another();
  const auto fence = one.enter("one", holding(10s))->fence;
  one.client.next(Fault::held_back);
  ASSERT_EQ(one.store.confirm(holding(10s), wait()).error().code, ErrorCode::unreachable);
  ASSERT_TRUE(one.confirm(holding(10s)));
  const auto late = one.client.deliver();
  ASSERT_TRUE(late[0] && late[1]);
  EXPECT_FALSE(late[1]->contains("succeeded"));
  revoke(late[0]->at("ID"));
  ASSERT_EQ(size(), 1U);
  EXPECT_EQ(one.confirm(holding(10s))->fence, fence);
}

TEST_F(EtcdLateTest, ARenewalWithoutAnAnswerIsDoneOnceMore) {
  auto one = another();
  const auto fence = one.enter("one", holding(10s))->fence;
  one.client.next(Fault::no_answer);
  ASSERT_FALSE(one.store.confirm(holding(10s), wait()));
  const auto before = BootClock::now();
  const auto view = one.confirm(holding(10s));
  ASSERT_TRUE(view);
  EXPECT_GE(view->sent, before);
  EXPECT_EQ(view->fence, fence);
}

TEST_F(EtcdLateTest, AnEntryThatIsMadeLateIsMadeForNobody) {
  auto one = another();
  one.client.next(Fault::held_back, 1);
  ASSERT_FALSE(one.store.enter("one", {}, holding(10s), Join::always, wait()));
  EXPECT_TRUE(one.store.may_be_there());
  EXPECT_FALSE(*one.store.leave({}, wait()));
  EXPECT_FALSE(one.store.may_be_there());
  const auto late = one.client.deliver();
  EXPECT_FALSE(late.back());
  EXPECT_EQ(size(), 0U);
}

TEST_F(EtcdLateTest, TheGrantIsAnsweredBeforeAnEntryIsAskedFor) {
  auto one = another();
  one.client.next(Fault::held_back);
  ASSERT_FALSE(one.store.enter("one", {}, holding(10s), Join::always, wait()));
  ASSERT_FALSE(one.store.may_be_there());
  (void)one.client.deliver();
  EXPECT_EQ(size(), 0U);
}

TEST_F(EtcdLateTest, AnEntryThatAnUnansweredTryHasMadeGetsANewLease) {
  const auto before = leases();
  auto one = another();
  one.client.next(Fault::no_answer, 1);
  ASSERT_FALSE(one.store.enter("one", {}, holding(10s), Join::if_empty, wait()));
  const auto first = new_leases(before);
  ASSERT_EQ(first.size(), 1U);
  const auto again = BootClock::now();
  const auto view = one.enter("one", holding(10s), Join::if_empty);
  ASSERT_TRUE(view);
  EXPECT_GE(view->sent, again);
  EXPECT_TRUE(view->ahead.empty());
  revoke(*first.begin());
  EXPECT_EQ(size(), 1U);
}

TEST_F(EtcdLateTest, AnEntryThatIsMadeAnewBehindOursIsNotOurs) {
  auto one = another();
  one.client.next(Fault::held_back, 1);
  ASSERT_FALSE(one.store.enter("one", {}, holding(10s), Join::always, wait()));
  ASSERT_TRUE(one.enter("one", holding(10s)));
  const auto entry = queue().first[0].entry;
  ASSERT_TRUE(*another().store.remove({&entry, 1}, wait()));
  auto two = another();
  ASSERT_TRUE(two.enter("two", holding(10s))->ahead.empty());
  ASSERT_TRUE(one.client.deliver().back());
  EXPECT_FALSE(*one.store.look(wait()));
  EXPECT_FALSE(one.confirm(holding(10s)));
  EXPECT_TRUE(two.confirm(holding(10s))->ahead.empty());
}

TEST_F(EtcdLateTest, ALeaseThatWasAskedForTwiceIsNoProof) {
  auto one = another();
  one.client.next(Fault::sent_twice);
  ASSERT_TRUE(one.enter("one", holding(10s)));
  EXPECT_EQ(one.client.flights, 3);
  one.client.paths.clear();
  one.client.next(Fault::sent_twice);
  ASSERT_TRUE(one.confirm(holding(10s)));
  EXPECT_EQ(std::ranges::count(one.client.paths, "/v3/lease/grant"), 2);
  EXPECT_EQ(size(), 1U);
}

TEST_F(EtcdLateTest, ARenewalIsAGrantAndATransactionInOneFlight) {
  auto one = another();
  ASSERT_TRUE(one.enter("one", holding(10s)));
  one.client.paths.clear();
  const auto before = BootClock::now();
  const auto view = one.confirm(holding(10s));
  EXPECT_EQ(one.client.paths, (std::vector<std::string>{"/v3/lease/grant", "/v3/kv/txn"}));
  EXPECT_GE(view->sent, before);
  EXPECT_LE(view->sent, one.client.sent_at());
}

TEST_F(EtcdLateTest, ADeadlineCountsFromBeforeTheGrant) {
  auto one = another();
  auto other = another();
  ASSERT_TRUE(one.enter("one", holding(10s)));
  ASSERT_TRUE(*other.store.find("one", wait()));
  ASSERT_TRUE(other.confirm(holding(10s)));
  // The first flight finds another version, and the second one moves the entry to the lease of the first.
  one.client.flown.clear();
  const auto view = one.confirm(holding(10s));
  ASSERT_EQ(one.client.flown.size(), 2U);
  EXPECT_LT(view->sent, one.client.flown[1]);
  auto late = another();
  const auto entered = late.enter("two", holding(10s));
  ASSERT_EQ(late.client.flown.size(), 2U);
  EXPECT_LT(entered->sent, late.client.flown[1]);
}

TEST_F(EtcdLateTest, AShorterRenewalOfAnotherProcessCutsNothing) {
  auto one = another();
  ASSERT_TRUE(one.enter("one", holding(60s)));
  auto other = another();
  ASSERT_TRUE(*other.store.find("one", wait()));
  ASSERT_TRUE(other.confirm(holding(3s)));
  EXPECT_GT(left(), 30s);
  // Nor does one that has known of the entry before.
  auto two = another();
  ASSERT_TRUE(*two.store.find("one", wait()));
  ASSERT_TRUE(one.confirm(holding(90s)));
  ASSERT_TRUE(two.confirm(holding(3s)));
  EXPECT_GT(left(), 60s);
}

TEST_F(EtcdLateTest, AHolderDoesNotKeepTheLongerLeaseOfAWaiter) {
  auto one = another();
  ASSERT_TRUE(one.enter("one", waiting(30s)));
  ASSERT_TRUE(one.confirm(holding(3s)));
  EXPECT_LE(left(), 3s);
  auto other = another();
  ASSERT_TRUE(one.confirm(waiting(30s)));
  ASSERT_TRUE(*other.store.find("one", wait()));
  ASSERT_TRUE(other.confirm(holding(3s)));
  EXPECT_LE(left(), 3s);
}

TEST_F(EtcdLateTest, AReleaseWithoutAnAnswerIsKnown) {
  auto one = another();
  ASSERT_TRUE(one.enter("one", holding(10s)));
  one.client.next(Fault::no_answer);
  ASSERT_FALSE(one.store.leave({.last_run = "0 x", .remembered = 1h, .leaves_note = true}, wait()));
  // The leases of what is left behind may have had to be granted first.
  if (*one.store.leave({.last_run = "0 x", .remembered = 1h, .leaves_note = true}, wait())) return;
  EXPECT_TRUE(*one.store.was_released("one", wait()));
  EXPECT_EQ(queue().last_run, "0 x");
}

TEST_F(EtcdLateTest, AHoldThatComesLateDoesNotCutTheOneThatCounts) {
  auto one = another();
  ASSERT_TRUE(one.enter("one", holding(10s)));
  LeaveOptions leaving{.hold = 5s, .ended = of_state(State::ended, 5s)};
  one.client.next(Fault::held_back);
  ASSERT_FALSE(one.store.leave(leaving, wait()));
  leaving.hold = 60s;
  ASSERT_TRUE(*one.store.leave(leaving, wait()));
  (void)one.client.deliver();
  EXPECT_GT(left(), 30s);
}

// Puts until the members say that they have no more space.
void fill(const PrivateEtcd& etcd) {
  auto client = client_of(etcd);
  const std::string much(1'000'000, 'A');
  for (int i = 0; i < 50; ++i) {
    const Call call{"/v3/kv/put", {{"key", "AAAA"}, {"value", much}}};
    if (!client->flight({&call, 1}, wait())) return;
  }
}

TEST_F(EtcdLateTest, MembersWithoutSpaceStillEndAnEntry) {
  const auto small = PrivateEtcd::start({"--quota-backend-bytes=4000000"});
  ASSERT_TRUE(small);
  One one(*small, key_);
  One two(*small, key_);
  ASSERT_TRUE(one.enter("one", holding(30s)) && two.enter("two", waiting(30s)));
  fill(*small);
  One late(*small, key_);
  EXPECT_EQ(late.store.enter("late", {}, holding(30s), Join::always, wait()).error().code, ErrorCode::unready);
  EXPECT_TRUE(*one.store.leave({.last_run = "0 x", .remembered = 1h, .leaves_note = true}, wait()));
  EXPECT_TRUE(two.store.look(wait())->value().ahead.empty());
  EXPECT_FALSE(late.store.read({&key_, 1}, 1, ordered::TimesLeft::no, wait())->front().last_run);
}

}  // namespace
}  // namespace rlock::etcd
