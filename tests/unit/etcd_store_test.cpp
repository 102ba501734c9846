// The steps of a lock in etcd, at a real member.
#include "etcd_fixture.hpp"
#include "stores/ordered/ordered.hpp"

namespace rlock::etcd {
namespace {

TEST_F(EtcdStoreTest, EntriesAreInTheOrderInWhichTheyWereMade) {
  auto first = another();
  auto second = another();
  const auto one = first.enter("one", holding(10s));
  ASSERT_TRUE(one);
  EXPECT_TRUE(one->ahead.empty());
  EXPECT_GT(one->sent, base::Instant{});
  const auto two = second.enter("t/w-o", waiting(10s));
  ASSERT_TRUE(two);
  EXPECT_GT(two->fence, one->fence);
  ASSERT_EQ(two->ahead.size(), 1U);
  EXPECT_EQ(two->ahead[0].token, "one");
  EXPECT_EQ(two->ahead[0].order, one->fence);
  const auto seen = queue();
  ASSERT_EQ(seen.first.size(), 2U);
  EXPECT_EQ(seen.size, 2);
  EXPECT_EQ(seen.first[1].entry.token, "t/w-o");
  EXPECT_EQ(seen.first[0].record->state, State::holds);
  EXPECT_GT(seen.first[0].record->since_us, 1'500'000'000'000'000);
  EXPECT_GT(seen.first[0].ttl_left, 5s);
  EXPECT_LE(seen.first[0].ttl_left, 10s);
  ASSERT_TRUE(*first.store.leave({}, wait()));
  EXPECT_TRUE(second.store.look(wait())->value().ahead.empty());
  EXPECT_TRUE(second.confirm(holding(10s))->ahead.empty());
  EXPECT_TRUE(*second.store.leave({}, wait()));
  EXPECT_EQ(size(), 0U);
}

TEST_F(EtcdStoreTest, NothingIsMadeInAQueueThatIsNotEmptyWhereThatIsNotWanted) {
  auto first = another();
  ASSERT_TRUE(first.enter("one", holding(10s), Join::if_empty));
  const auto before = leases();
  auto second = another();
  EXPECT_FALSE(second.enter("two", holding(10s), Join::if_empty));
  EXPECT_FALSE(second.store.may_be_there());
  EXPECT_EQ(size(), 1U);
  EXPECT_EQ(new_leases(before).size(), 0U);
  // What the members have to agree on is dear.
  EXPECT_EQ(second.client.paths, (std::vector<std::string>{"/v3/kv/range", "/v3/kv/range"}));
}

TEST_F(EtcdStoreTest, WhoComesToALongQueueIsToldOfThoseRightAhead) {
  const std::size_t many = 70;
  for (std::size_t i = 0; i < many; ++i) ASSERT_TRUE(another().enter("w" + std::to_string(i), waiting(60s)));
  auto last = another();
  const auto view = last.enter("last", waiting(60s));
  ASSERT_TRUE(view && !view->ahead.empty());
  EXPECT_LT(view->ahead.size(), many);
  EXPECT_EQ(view->ahead.size() + static_cast<std::size_t>(view->further), many);
  EXPECT_EQ(view->ahead.back().token, "w69");
  EXPECT_EQ(view->head->entry.token, "w0");
  const auto all = last.store.look(wait())->value();
  EXPECT_EQ(all.ahead.size(), many);
  EXPECT_EQ(all.ahead.front().token, "w0");
  EXPECT_EQ(all.further, 0);
  auto reader = another();
  reader.mode = {.kind = Mode::Kind::shared};
  EXPECT_EQ(reader.enter("reader", waiting(60s))->ahead.size(), many + 1);
}

TEST_F(EtcdStoreTest, AGlanceTellsWhetherEntriesStandAndOurOwn) {
  auto one = another();
  auto two = another();
  ASSERT_TRUE(one.enter("one", holding(10s)));
  const auto ahead = two.enter("two", waiting(10s))->ahead;
  EXPECT_TRUE(*two.store.stand(ahead, wait()));
  ASSERT_TRUE(one.confirm(holding(10s)));
  EXPECT_TRUE(*two.store.stand(ahead, wait()));
  ASSERT_TRUE(*one.store.leave({}, wait()));
  EXPECT_FALSE(*two.store.stand(ahead, wait()));
  ASSERT_TRUE(another().enter("one", holding(10s)));
  EXPECT_FALSE(*two.store.stand(ahead, wait()));
  EXPECT_TRUE(*two.store.stand({}, wait()));
  const auto entry = queue().first[0].entry;
  ASSERT_EQ(entry.token, "two");
  ASSERT_TRUE(*another().store.remove({&entry, 1}, wait()));
  EXPECT_FALSE(*two.store.stand({}, wait()));
}

TEST_F(EtcdStoreTest, ATtlBelowWhatTheClusterGrantsIsRefused) {
  auto one = another();
  const auto view = one.store.enter("one", {}, holding(500ms), Join::always, wait());
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, ErrorCode::usage);
  EXPECT_EQ(view.error().message, "--ttl 500ms is less than this etcd grants, 2s; use --ttl 2s or more");
  EXPECT_FALSE(one.store.may_be_there());
  EXPECT_TRUE(one.enter("one", waiting(500ms)));
}

TEST_F(EtcdStoreTest, AnEntryThatIsGoneIsGoneForEachStep) {
  auto one = another();
  ASSERT_TRUE(one.enter("one", holding(10s)));
  const auto entry = queue().first[0].entry;
  EXPECT_TRUE(*another().store.remove({&entry, 1}, wait()));
  EXPECT_FALSE(*another().store.remove({&entry, 1}, wait()));
  EXPECT_FALSE(*one.store.look(wait()));
  EXPECT_FALSE(one.confirm(holding(10s)));
  EXPECT_EQ(size(), 0U);
  EXPECT_FALSE(*one.store.leave({}, wait()));
}

TEST_F(EtcdStoreTest, AnEntryThatWasWrittenSinceIsNotRemoved) {
  auto one = another();
  ASSERT_TRUE(one.enter("one", waiting(10s)));
  const auto entry = queue().first[0].entry;
  ASSERT_TRUE(one.confirm(holding(10s)));
  EXPECT_FALSE(*another().store.remove({&entry, 1}, wait()));
  EXPECT_EQ(size(), 1U);
}

TEST_F(EtcdStoreTest, AnotherProcessGoesOnWithTheToken) {
  auto one = another();
  const auto view = one.enter("a", holding(10s));
  ASSERT_TRUE(another().enter("a-x", waiting(10s)));
  auto other = another();
  EXPECT_FALSE(*other.store.find("b", wait()));
  EXPECT_FALSE(other.store.may_be_there());
  const auto found = *other.store.find("a", wait());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->fence, view->fence);
  EXPECT_EQ(found->entry.token, "a");
  EXPECT_GT(found->ttl_left, 5s);
  EXPECT_TRUE(other.store.may_be_there());
  EXPECT_EQ(other.confirm(holding(10s))->fence, view->fence);
  EXPECT_EQ(one.confirm(holding(10s))->fence, view->fence);
  EXPECT_TRUE(*other.store.leave({.leaves_note = true}, wait()));
  EXPECT_TRUE(*another().store.was_released("a", wait()));
  EXPECT_FALSE(*another().store.was_released("a-x", wait()));
  EXPECT_FALSE(one.confirm(holding(10s)));
}

TEST_F(EtcdStoreTest, WhatLeavesMayBeRememberedOrKeepItsPlace) {
  auto one = another();
  ASSERT_TRUE(one.enter("one", holding(30s)));
  ASSERT_TRUE(another().enter("two", waiting(30s)));
  LeaveOptions leaving{.hold = 5s, .ended = holding(30s), .last_run = "0 ok", .remembered = 24h};
  leaving.ended.state = State::ended;
  EXPECT_TRUE(*one.store.leave(leaving, wait()));
  EXPECT_FALSE(one.store.may_be_there());
  auto seen = queue();
  EXPECT_EQ(seen.size, 2);
  EXPECT_EQ(seen.last_run, "0 ok");
  EXPECT_EQ(seen.first[0].record->state, State::ended);
  EXPECT_LE(seen.first[0].ttl_left, 5s);
  auto two = another();
  ASSERT_TRUE(*two.store.find("two", wait()));
  EXPECT_TRUE(*two.store.leave({.last_run = "1 bad", .remembered = 24h}, wait()));
  EXPECT_EQ(queue().last_run, "1 bad");
  // What is gone has not run to its end.
  EXPECT_FALSE(*two.store.leave({.last_run = "2 gone", .remembered = 24h}, wait()));
  EXPECT_EQ(queue().last_run, "1 bad");
}

TEST_F(EtcdStoreTest, LocksAreListedOnceEach) {
  const std::string prefix = key_;
  key_ = prefix + ":b";
  auto one = another();
  auto two = another();
  ASSERT_TRUE(one.enter("one", waiting(10s)) && two.enter("two", waiting(10s)));
  key_ = prefix + ":a-%";
  auto three = another();
  ASSERT_TRUE(three.enter("three", waiting(10s)));
  ASSERT_TRUE(*three.store.leave({.last_run = "0 x", .remembered = 1h}, wait()));
  EXPECT_EQ(*one.store.list(prefix + ":", wait()), (std::vector<std::string>{prefix + ":a-%", prefix + ":b"}));
  EXPECT_TRUE(one.store.list(prefix + ":c", wait())->empty());
}

TEST_F(EtcdStoreTest, ManyLocksAreReadInTheirOrder) {
  auto one = another();
  ASSERT_TRUE(one.enter("one", holding(10s)));
  std::vector<std::string> keys;
  for (int i = 0; i < 100; ++i) keys.push_back(i == 70 ? key_ : "none" + std::to_string(i));
  const auto queues = *one.store.read(keys, 0, ordered::TimesLeft::no, wait());
  ASSERT_EQ(queues.size(), keys.size());
  EXPECT_EQ(queues[69].size, 0);
  EXPECT_EQ(queues[70].size, 1);
  EXPECT_TRUE(queues[70].first.empty());
  EXPECT_GT((*one.store.read(keys, 5, ordered::TimesLeft::yes, wait()))[70].first.at(0).ttl_left, 5s);
}

TEST_F(EtcdStoreTest, WhoLeavesLeavesNoLease) {
  const auto before = leases();
  auto one = another();
  ASSERT_TRUE(one.enter("one", waiting(10s)));
  ASSERT_TRUE(one.confirm(holding(10s)) && one.confirm(holding(10s)));
  EXPECT_EQ(new_leases(before).size(), 3U);
  ASSERT_TRUE(*one.store.leave({}, wait()));
  EXPECT_EQ(new_leases(before).size(), 0U);
}

TEST_F(EtcdStoreTest, WhoEndsAnEntryEndsTheLeasesThatOthersAskedForToo) {
  const auto before = leases();
  for (const bool by_force : {false, true}) {
    auto one = another();
    auto other = another();
    auto third = another();
    ASSERT_TRUE(one.enter("one", waiting(60s)) && one.confirm(holding(10s)));
    ASSERT_TRUE(*other.store.find("one", wait()) && other.confirm(holding(20s)));
    ASSERT_TRUE(one.confirm(holding(10s)));
    EXPECT_GE(new_leases(before).size(), 4U);
    const auto found = *third.store.find("one", wait());
    if (by_force) {
      ASSERT_TRUE(*third.store.remove({&found->entry, 1}, wait()));
    } else {
      ASSERT_TRUE(*third.store.leave({}, wait()));
    }
    EXPECT_EQ(new_leases(before).size(), 0U);
  }
}

TEST_F(EtcdStoreTest, WhatAHoldKeepsIsNotEndedByTheTokenOfItsRun) {
  auto one = another();
  ASSERT_TRUE(one.enter("one", holding(10s)));
  LeaveOptions leaving{.hold = 60s, .ended = of_state(State::ended, 60s)};
  ASSERT_TRUE(*one.store.leave(leaving, wait()));
  auto other = another();
  ASSERT_TRUE(*other.store.find("one", wait()));
  ASSERT_TRUE(other.enter("other", waiting(10s)));
  ASSERT_TRUE(*other.store.leave({}, wait()));
  EXPECT_EQ(size(), 1U);
  EXPECT_GT(left(), 30s);
}

// Whether something is reported within what a busy machine may need.
ordered::Changes changes_of(One& one) {
  ordered::Changes changes;
  const auto until = BootClock::now() + 20s;
  while (BootClock::now() < until && changes.gone.empty() && !changes.is_unclear) {
    auto fds = one.store.wait_fds();
    poller.wait(fds, BootClock::now() + 20ms);
    auto more = *one.store.drain();
    changes.gone.insert(changes.gone.end(), more.gone.begin(), more.gone.end());
    changes.is_unclear |= more.is_unclear;
  }
  return changes;
}

TEST_F(EtcdStoreTest, AWatchTellsWhatHasHappenedSinceTheLastView) {
  auto one = another();
  auto two = another();
  ASSERT_TRUE(one.enter("one", holding(10s)));
  const auto view = two.enter("two", waiting(10s));
  ASSERT_TRUE(one.confirm(holding(10s)));
  ASSERT_TRUE(*one.store.leave({}, wait()));
  ASSERT_TRUE(two.store.watch({.whom = Watched::Whom::one, .entry = view->ahead[0]}, wait()));
  const auto what = changes_of(two);
  EXPECT_EQ(what.gone, std::vector<std::string>{"one"});
  EXPECT_FALSE(what.is_unclear);
}

TEST_F(EtcdStoreTest, AWatchOfAllStandsOnAndTellsOfWritesWhereTheyCount) {
  auto one = another();
  auto two = another();
  ASSERT_TRUE(one.enter("one", holding(10s)) && two.enter("two", waiting(10s)));
  ASSERT_TRUE(two.store.watch({.whom = Watched::Whom::all}, wait()));
  ASSERT_TRUE(two.store.watch({.whom = Watched::Whom::all}, wait()));
  EXPECT_EQ(two.client.streams, 1);
  ASSERT_TRUE(two.store.watch({.whom = Watched::Whom::all, .is_of_writes = true}, wait()));
  EXPECT_EQ(two.client.streams, 2);
  ASSERT_TRUE(one.confirm(holding(10s)));
  EXPECT_TRUE(changes_of(two).is_unclear);
  ASSERT_TRUE(*one.store.leave({}, wait()));
  EXPECT_EQ(changes_of(two).gone, std::vector<std::string>{"one"});
}

TEST_F(EtcdStoreTest, AWatchWhosePastIsCompactedIsUnclear) {
  auto one = another();
  auto two = another();
  ASSERT_TRUE(one.enter("one", holding(10s)) && two.enter("two", waiting(10s)));
  ASSERT_TRUE(one.confirm(holding(10s)));
  const auto view = one.confirm(holding(10s));
  ASSERT_TRUE(*one.store.leave({}, wait()));
  auto client = client_of(*etcd_);
  const Call range{"/v3/kv/range", {{"key", "eA=="}}};
  const auto revision = (*client->flight({&range, 1}, wait())).front()->at("header").at("revision");
  const Call compact{"/v3/kv/compaction", {{"revision", revision}}};
  ASSERT_TRUE((*client->flight({&compact, 1}, wait())).front());
  ASSERT_TRUE(two.store.watch({.whom = Watched::Whom::all}, wait()));
  EXPECT_TRUE(changes_of(two).is_unclear);
  ASSERT_TRUE(two.confirm(holding(10s)));
  ASSERT_TRUE(two.store.watch({.whom = Watched::Whom::all}, wait()));
  EXPECT_EQ(two.client.streams, 2);
}

TEST_F(EtcdStoreTest, SinceWhenALockIsHeldIsKnownAfterARenewalToo) {
  ordered::Ordered lock(std::make_unique<EtcdStore>(client_of(*etcd_), "/rlock", key_));
  const lock::Request request{.name = {.key = key_, .wire_key = key_}, .token = "one", .ttl = 10s, .who = {}};
  ASSERT_TRUE(std::holds_alternative<lock::Grant>(*lock.acquire(request, lock::Queue::no, wait())));
  const auto since = queue().first[0].record->since_us;
  ASSERT_GT(since, 1'500'000'000'000'000);
  ASSERT_TRUE(lock.renew(request, lock::Watch::no, wait()));
  EXPECT_GE(queue().first[0].record->since_us, since);
}

TEST_F(EtcdStoreTest, AWaiterIsKept) {
  auto one = another();
  ASSERT_TRUE(one.enter("one", waiting(10s)));
  EXPECT_TRUE(*one.store.keep_alive(wait()));
  EXPECT_EQ(one.client.paths.back(), "/v3/lease/keepalive");
  ASSERT_TRUE(*one.store.leave({}, wait()));
  EXPECT_FALSE(*one.store.keep_alive(wait()));
}

}  // namespace
}  // namespace rlock::etcd
