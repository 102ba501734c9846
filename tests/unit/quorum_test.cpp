#include "stores/quorum/quorum.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "lock/lease.hpp"

namespace rlock::quorum {
namespace {

using namespace std::chrono_literals;
using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::Instant;
using base::Wait;

// A server as far as its votes go: a holder, an age, a last fence. It answers at once, after `delay`, or never.
class FakeVoter final : public Voter {
 public:
  explicit FakeVoter(std::string name) : name_(std::move(name)) {}

  base::Result<lock::Acquired> acquire(const lock::Request& request, lock::Queue queue, Wait wait) override {
    const auto sent = BootClock::now();
    asked.push_back(queue == lock::Queue::yes ? "queue" : "acquire");
    if (auto up = answer(wait); !up) return std::unexpected(up.error());
    if (holder.empty() && is_young) return lock::Busy{.young_for = 1s};
    if (holder.empty()) holder = request.token, fence_of_holder = ++last_fence;
    if (on_grant && holder == request.token) on_grant();
    if (holder != request.token)
      return lock::Busy{.rank = 0, .holder_ttl = 1s, .ticket = queue == lock::Queue::yes ? 7 : 0};
    return lock::Grant{fence_of_holder, sent, run_id};
  }
  base::Result<lock::Ownership> renew(const lock::Request& request, lock::Watch, Wait wait) override {
    const auto sent = BootClock::now();
    asked.push_back("renew");
    if (auto up = answer(wait); !up) return std::unexpected(up.error());
    const bool reclaims = holder.empty() && has_restarted;
    if (reclaims) holder = request.token;
    if (holder == request.token) {
      return lock::Ownership{.holder = lock::Ownership::Holder::us,
                             .fence = fence_of_holder,
                             .counts_from = sent,
                             .is_reclaimed = reclaims};
    }
    return lock::Ownership{.holder = holder.empty() ? lock::Ownership::Holder::nobody : lock::Ownership::Holder::other};
  }
  base::Result<lock::Ownership> check(const lock::Request& request, Wait wait) override {
    asked.push_back("check");
    if (auto up = answer(wait); !up) return std::unexpected(up.error());
    if (holder == request.token)
      return lock::Ownership{.holder = lock::Ownership::Holder::us, .fence = fence_of_holder};
    const lock::Ownership ownership{.holder = holder.empty() ? lock::Ownership::Holder::nobody
                                                             : lock::Ownership::Holder::other};
    if (on_check) on_check();
    return ownership;
  }
  base::Result<lock::Released> release(const lock::Request& request, const lock::ReleaseOptions&, Wait wait) override {
    asked.push_back("release");
    if (auto up = answer(wait); !up) return std::unexpected(up.error());
    if (let_go(request)) return lock::Released{lock::ReleaseOutcome::released};
    return lock::Released{holder.empty() ? lock::ReleaseOutcome::absent : lock::ReleaseOutcome::not_owner};
  }
  base::Result<void> release_vote(const lock::Request& request, Wait wait) override {
    asked.push_back("give back");
    if (breaks_on_release) return base::fail(ErrorCode::unreachable, name_ + " closed the connection");
    if (auto up = answer(wait); !up) return std::unexpected(up.error());
    let_go(request);
    return {};
  }
  void queue_since(std::int64_t) override {}
  bool may_release_late() const override { return breaks_on_release; }
  base::Result<bool> raise_fence(const lock::Request& request, std::uint64_t fence, Wait wait) override {
    asked.push_back("raise");
    if (auto up = answer(wait); !up) return std::unexpected(up.error());
    if (holder != request.token) return false;
    last_fence = std::max(last_fence, fence);
    fence_of_holder = fence;
    return true;
  }
  bool may_reclaim() const override { return has_restarted; }
  bool may_hold() const override { return !holder.empty(); }
  std::vector<pollfd> wait_fds() const override { return {}; }
  base::Result<lock::Event> drain() override {
    if (hangs_up) return base::fail(ErrorCode::unreachable, name_ + " closed the connection");
    return lock::Event{};
  }
  base::Result<std::vector<lock::Inspection>> inspect(std::span<const std::string>, std::int64_t, Wait) override {
    return std::vector<lock::Inspection>{};
  }
  base::Result<std::vector<std::string>> list(const std::string&, Wait) override { return std::vector<std::string>{}; }
  base::Result<std::vector<std::string>> warnings(Wait) override { return std::vector<std::string>{}; }
  Duration timeout() const override { return 300ms; }
  const std::string& name() const override { return name_; }

  void restart() {
    holder.clear();
    is_young = has_restarted = true;
  }

  std::string holder;
  std::uint64_t last_fence = 0;
  std::uint64_t fence_of_holder = 0;
  bool is_young = false;
  bool has_restarted = false;
  bool is_down = false;
  bool breaks_on_release = false;
  bool hangs_up = false;
  std::string run_id;
  std::function<void()> on_check;
  std::function<void()> on_grant;
  Duration delay{};
  std::vector<std::string> asked;

 private:
  base::Result<void> answer(Wait wait) {
    if (is_down) return base::fail(ErrorCode::unreachable, name_ + " is down");
    if (delay == Duration::zero()) return {};
    const auto until = BootClock::now() + delay;
    if (wait.poller().wait({}, std::min(until, wait.until())) == base::Readiness::interrupted)
      return base::interrupted();
    if (BootClock::now() < until) return base::fail(ErrorCode::unreachable, "no answer from " + name_);
    return {};
  }
  bool let_go(const lock::Request& request) {
    if (holder != request.token) return false;
    holder.clear();
    return true;
  }

  std::string name_;
};

class QuorumTest : public testing::Test {
 protected:
  QuorumTest() : quorum_(std::make_unique<Quorum>(make(), 1s)) {}

  std::vector<Quorum::Server> make() {
    std::vector<Quorum::Server> servers;
    for (int i = 0; i < 5; ++i) {
      auto voter = std::make_unique<FakeVoter>("s" + std::to_string(i));
      s_.push_back(voter.get());
      servers.push_back({std::to_string(i), std::move(voter)});
    }
    return servers;
  }
  base::Result<lock::Acquired> acquire(lock::Queue queue = lock::Queue::no) {
    return quorum_->acquire(request_, queue, {BootClock::now() + 300ms, plain_});
  }
  base::Result<lock::Ownership> renew() {
    return quorum_->renew(request_, lock::Watch::no, {BootClock::now() + 300ms, plain_});
  }
  static bool is_grant(const base::Result<lock::Acquired>& acquired) {
    return acquired && std::holds_alternative<lock::Grant>(*acquired);
  }
  static bool is_busy(const base::Result<lock::Acquired>& acquired) {
    return acquired && std::holds_alternative<lock::Busy>(*acquired);
  }
  std::size_t ours() const {
    return static_cast<std::size_t>(std::ranges::count_if(s_, [](const auto* s) { return s->holder == "me"; }));
  }
  void hold(std::initializer_list<std::size_t> which) {
    for (const auto i : which) s_[i]->holder = "another";
  }

  base::PlainPoller plain_;
  std::vector<FakeVoter*> s_;
  std::unique_ptr<Quorum> quorum_;
  lock::Request request_{{"k", "rlock:k"}, "me", 400ms, {}};
};

TEST_F(QuorumTest, ThreeOfFiveAreEnough) {
  s_[1]->is_down = s_[3]->is_down = true;
  EXPECT_TRUE(is_grant(acquire()));
  EXPECT_EQ(ours(), 3U);
}

TEST_F(QuorumTest, TwoVotesOfOneServerAreAnErrorAndWhatIsNoRunIdTellsNothing) {
  for (auto* s : s_) s->run_id = std::string(40, '0');
  EXPECT_TRUE(is_grant(acquire()));
  s_.clear();
  quorum_ = std::make_unique<Quorum>(make(), 300ms);
  for (auto* s : s_) s->run_id = std::string(39, 'a') + s->name().back();
  s_[1]->run_id = s_[0]->run_id;
  const auto acquired = acquire();
  ASSERT_FALSE(acquired);
  EXPECT_EQ(acquired.error().code, ErrorCode::configuration);
  EXPECT_EQ(acquired.error().message, "s0 and s1 are the same server");
}

TEST_F(QuorumTest, TwoOfFiveAreNotAndAreGivenBack) {
  s_[1]->is_down = s_[3]->is_down = s_[4]->is_down = true;
  const auto acquired = acquire();
  ASSERT_FALSE(acquired);
  EXPECT_EQ(acquired.error().code, ErrorCode::unreachable);
  EXPECT_NE(acquired.error().message.find("2 of 5 servers can be used, and 3 are needed"), std::string::npos)
      << acquired.error().message;
  EXPECT_NE(acquired.error().message.find("s3 is down"), std::string::npos);
  EXPECT_EQ(ours(), 0U);
}

TEST_F(QuorumTest, TheFirstIsAskedAlone) {
  hold({0});
  EXPECT_TRUE(is_busy(acquire()));
  for (std::size_t i = 1; i < 5; ++i) EXPECT_TRUE(s_[i]->asked.empty());
}

TEST_F(QuorumTest, KeepsWhatIsBeforeTheGapAndGivesBackTheRest) {
  hold({1, 2, 3});
  EXPECT_TRUE(is_busy(acquire(lock::Queue::yes)));
  EXPECT_EQ(s_[0]->holder, "me");
  EXPECT_EQ(s_[4]->holder, "");
  EXPECT_EQ(s_[1]->asked.back(), "queue");
  for (const std::size_t i : {1U, 2U, 3U}) s_[i]->holder.clear();
  EXPECT_TRUE(is_grant(acquire(lock::Queue::yes)));
}

TEST_F(QuorumTest, AWaiterKeepsItsVotesBeforeTheGapAliveAndAsksNoMoreThanThat) {
  hold({1, 2, 3});
  const auto end = BootClock::now() + 2 * request_.ttl;
  while (BootClock::now() < end) {
    const auto acquired = acquire(lock::Queue::yes);
    ASSERT_TRUE(is_busy(acquired));
    plain_.wait({}, std::min(end, std::get<lock::Busy>(*acquired).look_at));
    ASSERT_TRUE(quorum_->drain());
  }
  EXPECT_GE(s_[0]->asked.size(), 4U);
  for (const auto* s : s_) EXPECT_LE(s->asked.size(), 12U);
}

TEST_F(QuorumTest, AWaiterWhoseVoteBeforeTheGapCannotBeRenewedDoesNotAskAllTheTime) {
  for (const auto delay : {0s, 5s}) {
    s_.clear();
    quorum_ = std::make_unique<Quorum>(make(), 300ms);
    hold({1, 2, 3});
    ASSERT_TRUE(is_busy(acquire(lock::Queue::yes)));
    s_[0]->delay = delay;
    s_[0]->is_down = delay == 0s;
    const auto end = BootClock::now() + request_.ttl;
    while (BootClock::now() < end) {
      const auto acquired = acquire(lock::Queue::yes);
      ASSERT_TRUE(is_busy(acquired));
      plain_.wait({}, std::min(end, std::get<lock::Busy>(*acquired).look_at));
      ASSERT_TRUE(quorum_->drain());
    }
    for (const auto* s : s_) EXPECT_LE(s->asked.size(), 12U);
  }
}

TEST_F(QuorumTest, AWaiterComesBackAtOnceWhereItsConnectionBreaksButNotAllTheTime) {
  hold({0, 1, 2, 3, 4});
  s_[0]->hangs_up = true;
  ASSERT_TRUE(is_busy(acquire(lock::Queue::yes)));
  const auto first = quorum_->drain();
  ASSERT_TRUE(first);
  EXPECT_LE(first->look_at, BootClock::now());
  const auto end = BootClock::now() + 400ms;
  while (BootClock::now() < end) {
    ASSERT_TRUE(is_busy(acquire(lock::Queue::yes)));
    const auto event = quorum_->drain();
    ASSERT_TRUE(event);
    plain_.wait({}, std::min(end, event->look_at));
  }
  EXPECT_LE(s_[0]->asked.size(), 12U);
}

TEST_F(QuorumTest, AServerThatMayStillGetAReleaseIsNotAskedForAVote) {
  hold({1, 2, 3});
  s_[4]->breaks_on_release = true;
  EXPECT_TRUE(is_busy(acquire(lock::Queue::yes)));
  s_[4]->asked.clear();
  for (const std::size_t i : {1U, 2U, 3U}) s_[i]->holder.clear();
  EXPECT_TRUE(is_grant(acquire(lock::Queue::yes)));
  EXPECT_TRUE(s_[4]->asked.empty());
}

// What was not sent cannot come late.
TEST_F(QuorumTest, AServerThatWasDownWhenItsVoteWasToBeGivenBackVotesAsSoonAsItIsBack) {
  hold({1, 2, 3});
  s_[4]->on_grant = [&] { s_[4]->is_down = true; };
  EXPECT_TRUE(is_busy(acquire(lock::Queue::yes)));
  EXPECT_EQ(s_[4]->holder, "me");
  s_[4]->on_grant = {};
  s_[4]->is_down = false;
  s_[1]->holder.clear();
  EXPECT_TRUE(is_grant(acquire(lock::Queue::yes)));
  EXPECT_EQ(s_[4]->holder, "me");
}

// A second release that the server does not hear of would keep it out for longer.
TEST_F(QuorumTest, AServerThatDidNotAnswerIsLookedAtBeforeItIsAskedForARelease) {
  hold({1, 2, 3});
  EXPECT_TRUE(is_busy(acquire(lock::Queue::yes)));
  EXPECT_EQ(s_[0]->holder, "me");
  plain_.wait({}, BootClock::now() + request_.ttl / 2);
  for (const auto i : {0U, 1U, 2U, 3U}) s_[i]->is_down = true;
  EXPECT_FALSE(acquire(lock::Queue::yes));
  ASSERT_TRUE(quorum_->drain());
  EXPECT_EQ(s_[0]->asked.back(), "check");
  for (auto* s : s_) s->holder.clear(), s->is_down = false;
  EXPECT_TRUE(is_grant(acquire(lock::Queue::yes)));
}

TEST_F(QuorumTest, ServersThatMustNotBeAskedDoNotCountAsUsableAndAreWaitedFor) {
  hold({1, 2, 3});
  s_[4]->breaks_on_release = true;
  EXPECT_TRUE(is_busy(acquire(lock::Queue::yes)));
  s_[3]->holder.clear();
  for (const auto i : {1U, 2U}) s_[i]->is_down = true;
  auto acquired = acquire();
  ASSERT_FALSE(acquired);
  EXPECT_TRUE(acquired.error().message.starts_with("2 of 5 servers can be used, and 3 are needed"))
      << acquired.error().message;
  EXPECT_TRUE(acquired.error().message.contains("may still be under way")) << acquired.error().message;
  EXPECT_GT(quorum_->serves_again(), BootClock::now() + 25s);
}

TEST_F(QuorumTest, YoungServersDoNotVote) {
  for (const std::size_t i : {0U, 1U, 2U}) s_[i]->is_young = true;
  const auto acquired = acquire();
  ASSERT_TRUE(is_busy(acquired));
  EXPECT_TRUE(std::get<lock::Busy>(*acquired).young_for);
  EXPECT_EQ(ours(), 0U);
}

TEST_F(QuorumTest, AHungServerIsPassedOverAndItsLateVoteIsTakenUp) {
  s_[0]->delay = 120ms;
  EXPECT_TRUE(is_grant(acquire()));
  EXPECT_EQ(ours(), 4U);
  plain_.wait({}, BootClock::now() + 120ms);
  ASSERT_TRUE(quorum_->drain());
  EXPECT_EQ(ours(), 5U);
}

TEST_F(QuorumTest, ServersThatAreAllFarAwayGrantTheLock) {
  for (auto* s : s_) s->delay = 90ms;
  request_.ttl = 4s;
  EXPECT_TRUE(is_grant(quorum_->acquire(request_, lock::Queue::no, {BootClock::now() + 2s, plain_})));
}

TEST_F(QuorumTest, ServersThatStoodStillAreAskedAgain) {
  for (auto* s : s_) s->delay = 5s;
  EXPECT_FALSE(acquire());
  for (auto* s : s_) s->delay = {};
  plain_.wait({}, BootClock::now() + 350ms);  // nobody drives the calls meanwhile
  EXPECT_TRUE(is_grant(acquire()));
}

TEST_F(QuorumTest, SlowServersAreWaitedForWhereAMajorityNeedsThem) {
  s_[2]->delay = s_[3]->delay = 80ms;
  s_[4]->delay = 130ms;
  ASSERT_TRUE(is_grant(acquire()));
  const auto before = BootClock::now();
  const auto renewed = renew();
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->holder, lock::Ownership::Holder::us);
  EXPECT_GE(renewed->counts_from, before);
  EXPECT_TRUE(quorum_->check(request_, {BootClock::now() + 300ms, plain_}));
  EXPECT_TRUE(quorum_->release(request_, {}, {BootClock::now() + 300ms, plain_}));
}

// One is down, so that it is tried again before the slow ones have answered.
TEST_F(QuorumTest, AnswersToTheTryBeforeRenewToo) {
  ASSERT_TRUE(is_grant(acquire()));
  s_[0]->is_down = true;
  s_[2]->delay = s_[3]->delay = s_[4]->delay = 110ms;
  const auto before = BootClock::now();
  auto renewed = renew();
  for (int i = 0; i < 2 && !renewed; ++i) {
    plain_.wait({}, BootClock::now() + 10ms);
    renewed = renew();
  }
  ASSERT_TRUE(renewed);
  EXPECT_GE(renewed->counts_from, before);
  EXPECT_LT(BootClock::now() - before, 200ms);
}

TEST_F(QuorumTest, AVoteThatOutlivedItsLeaseKeepsNobodyOut) {
  hold({0});
  request_.is_only_try = true;
  EXPECT_TRUE(is_grant(acquire()));
}

TEST_F(QuorumTest, TheFirstOfTheQueueFindsThatOnlyOneServerIsHeld) {
  hold({0});
  EXPECT_TRUE(is_busy(acquire(lock::Queue::yes)));
  EXPECT_TRUE(s_[1]->asked.empty());
  plain_.wait({}, BootClock::now() + 1s);
  EXPECT_TRUE(is_grant(acquire(lock::Queue::yes)));
}

TEST_F(QuorumTest, WhoIsAboutToAskTheOthersIsLeftTime) {
  hold({0});
  request_.is_only_try = true;
  for (const std::size_t i : {1U, 2U, 3U}) s_[i]->on_check = [s = s_[i]] { s->holder = "another"; };
  EXPECT_TRUE(is_busy(acquire()));
  EXPECT_EQ(ours(), 0U);
}

TEST_F(QuorumTest, BusyIsSaidOnlyByAMajority) {
  hold({0, 1, 2, 3, 4});
  request_.is_only_try = true;
  s_[1]->is_down = s_[2]->is_down = true;
  EXPECT_TRUE(is_busy(acquire()));
  s_[3]->is_down = true;
  const auto acquired = acquire();
  ASSERT_FALSE(acquired);
  EXPECT_EQ(acquired.error().code, ErrorCode::unreachable);
}

TEST_F(QuorumTest, ALateVoteBehindTheGapIsGivenBack) {
  hold({1, 2, 3});
  s_[4]->delay = 120ms;
  EXPECT_TRUE(is_busy(acquire(lock::Queue::yes)));
  for (int i = 0; i < 20 && s_[4]->asked.back() != "give back"; ++i) {
    plain_.wait({}, BootClock::now() + 20ms);
    ASSERT_TRUE(quorum_->drain());
  }
  plain_.wait({}, BootClock::now() + 150ms);
  ASSERT_TRUE(quorum_->drain());
  EXPECT_EQ(s_[4]->holder, "");
}

TEST_F(QuorumTest, TheFenceIsTheLargestAndAMajorityKnowsItBefore) {
  s_[2]->last_fence = 40;
  s_[0]->is_down = s_[4]->is_down = true;
  const auto acquired = acquire();
  ASSERT_TRUE(is_grant(acquired));
  EXPECT_EQ(std::get<lock::Grant>(*acquired).fence, 41U);
  for (const std::size_t i : {1U, 2U, 3U}) EXPECT_GE(s_[i]->last_fence, 41U);
}

TEST_F(QuorumTest, TheLeaseLastsAsLongAsAMajorityOfItsVotes) {
  const auto before = BootClock::now();
  ASSERT_TRUE(is_grant(acquire()));
  s_[0]->is_down = s_[1]->is_down = true;
  plain_.wait({}, BootClock::now() + 20ms);
  auto renewed = renew();
  ASSERT_TRUE(renewed);
  EXPECT_GE(renewed->counts_from, before + 20ms);
  s_[2]->is_down = true;
  EXPECT_FALSE(renew());  // the earlier votes go on counting, for no longer than before
}

TEST_F(QuorumTest, AnEmptyServerIsTakenBackBeforeItsVoteEnds) {
  ASSERT_TRUE(is_grant(acquire()));
  s_[0]->restart();
  const auto renewed = renew();
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->holder, lock::Ownership::Holder::us);
  EXPECT_EQ(s_[0]->holder, "me");
}

TEST_F(QuorumTest, WhatIsTakenBackAfterItsVoteHasEndedDoesNotCount) {
  ASSERT_TRUE(is_grant(acquire()));
  const auto deadline = lock::vote_deadline(400ms, BootClock::now());
  plain_.wait({}, deadline - 60ms);
  for (const std::size_t i : {0U, 1U, 2U}) {
    s_[i]->restart();
    s_[i]->delay = 100ms;
  }
  const auto renewed = renew();
  EXPECT_FALSE(renewed && renewed->holder == lock::Ownership::Holder::us);
}

TEST_F(QuorumTest, WhoDoesNotHoldALockDoesNotAcquireItByRenewing) {
  for (const std::size_t i : {0U, 1U}) s_[i]->holder = "me";
  const auto renewed = renew();
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->holder, lock::Ownership::Holder::nobody);
  EXPECT_EQ(ours(), 2U);
}

TEST_F(QuorumTest, AVoteThatWasDeletedIsWonBackByAHolder) {
  ASSERT_TRUE(is_grant(acquire()));
  s_[3]->holder.clear();
  ASSERT_TRUE(renew());
  ASSERT_TRUE(renew());
  EXPECT_EQ(ours(), 5U);
}

TEST_F(QuorumTest, LostWhereAMajorityIsAnothers) {
  ASSERT_TRUE(is_grant(acquire()));
  hold({0, 1, 2});
  const auto renewed = renew();
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->holder, lock::Ownership::Holder::other);
}

// Another process acquired it, with 5. Two servers were won behind that, with fences that only they know.
TEST_F(QuorumTest, ACheckFindsTheFenceThatAMajorityKnows) {
  for (const auto& fences :
       {std::array{9U, 8U, 5U, 5U, 5U}, std::array{5U, 9U, 5U, 2U, 5U}, std::array{5U, 5U, 2U, 2U, 5U}}) {
    s_.clear();
    quorum_ = std::make_unique<Quorum>(make(), 300ms);
    for (std::size_t i = 0; i < 5; ++i) s_[i]->holder = "me", s_[i]->fence_of_holder = fences.at(i);
    const auto checked = quorum_->check(request_, {BootClock::now() + 300ms, plain_});
    ASSERT_TRUE(checked);
    EXPECT_EQ(checked->fence, 5U);
    const auto renewed = renew();
    ASSERT_TRUE(renewed);
    EXPECT_EQ(renewed->fence, 5U);
  }
}

TEST_F(QuorumTest, AReleaseFindsThatAnotherHasAMajorityWhateverElseItReleases) {
  ASSERT_TRUE(is_grant(acquire()));
  for (const auto i : {0, 2, 4}) s_[static_cast<std::size_t>(i)]->holder = "another";
  const auto released = quorum_->release(request_, {}, {BootClock::now() + 300ms, plain_});
  ASSERT_TRUE(released);
  EXPECT_EQ(released->outcome, lock::ReleaseOutcome::not_owner);
}

TEST_F(QuorumTest, ReleaseDoesNotWaitForAServerThatStandsStill) {
  ASSERT_TRUE(is_grant(acquire()));
  s_[2]->delay = 5s;
  const auto start = BootClock::now();
  const auto released = quorum_->release(request_, {}, {start + 5s, plain_});
  ASSERT_TRUE(released);
  EXPECT_EQ(released->outcome, lock::ReleaseOutcome::released);
  EXPECT_LT(BootClock::now() - start, 2s);
}

}  // namespace
}  // namespace rlock::quorum
