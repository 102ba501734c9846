// A lock on a queue of entries, over a store in memory that orders them as a majority would.
#include "stores/ordered/ordered.hpp"

#include <gtest/gtest.h>

#include <map>

#include "lock/last_run.hpp"
#include "stores/ordered/turn.hpp"

namespace rlock::ordered {
namespace {

using namespace std::chrono_literals;
using base::BootClock;
using base::ErrorCode;
using base::Result;
using lock::Mode;
using lock::Ownership;
using State = Record::State;

constexpr base::Duration ttl = 10s;
const Mode exclusive{};
const Mode shared{.kind = Mode::Kind::shared};

Mode slots(int n) { return {.kind = Mode::Kind::slots, .slots = n}; }

Entry entry(const Mode& mode) { return {0, "", mode, 0}; }

// What all clients share.
struct Members {
  std::vector<Listed> queue;
  std::optional<std::string> last_run;
  std::vector<std::string> released;
  std::uint64_t revision = 0;
  int confirms = 0;
  int looks = 0;
  int glances = 0;  ///< stand()
};

// A client of it. What it is told of are entries that have gone since it began to watch.
class FakeStore final : public OrderedStore {
 public:
  explicit FakeStore(Members& members) : members_(members) {}

  Result<std::optional<View>> enter(const std::string& token, Mode mode, const Record& record, Join join,
                                    base::Wait) override {
    if (join == Join::if_empty && !members_.queue.empty()) return std::nullopt;
    token_ = token;
    const auto order = ++members_.revision;
    members_.queue.push_back({{order, token, mode, order}, order, record, record.ttl});
    return view(BootClock::now());
  }
  Result<std::optional<Listed>> find(const std::string& token, base::Wait) override {
    token_ = token;
    if (own() == nullptr) return std::nullopt;
    return *own();
  }
  Result<std::optional<View>> confirm(const Record& record, base::Wait) override {
    ++members_.confirms;
    if (own() == nullptr) return std::nullopt;
    own()->record = record;
    own()->entry.version = ++members_.revision;
    return view(BootClock::now());
  }
  Result<std::optional<View>> look(base::Wait) override {
    ++members_.looks;
    if (own() == nullptr) return std::nullopt;
    return view({});
  }
  Result<bool> stand(std::span<const Entry> entries, base::Wait) override {
    ++members_.glances;
    return own() != nullptr && std::ranges::all_of(entries, [&](const Entry& entry) {
             return std::ranges::any_of(members_.queue,
                                        [&](const Listed& it) { return it.entry.order == entry.order; });
           });
  }
  Result<bool> keep_alive(base::Wait) override { return own() != nullptr; }
  Result<bool> leave(const LeaveOptions& leaving, base::Wait) override {
    if (own() == nullptr) return false;
    if (!leaving.last_run.empty()) members_.last_run = leaving.last_run;
    if (leaving.leaves_note) members_.released.push_back(token_);
    if (leaving.hold > 0ms) {
      own()->record = leaving.ended;
    } else {
      end(token_);
    }
    token_.clear();
    return true;
  }
  bool may_be_there() const override { return !token_.empty(); }
  Result<bool> remove(std::span<const Entry> entries, base::Wait) override {
    for (const auto& entry : entries) end(entry.token);
    return true;
  }
  Result<bool> was_released(const std::string& token, base::Wait) override {
    return std::ranges::find(members_.released, token) != members_.released.end();
  }
  Result<void> watch(const Watched& watched, base::Wait) override {
    watched_ = watched;
    seen_.clear();
    for (const auto& listed : members_.queue) seen_.push_back(listed.entry.token);
    return {};
  }
  std::vector<pollfd> wait_fds() const override { return {}; }
  Result<Changes> drain() override {
    Changes changes;
    for (const auto& token : std::exchange(seen_, {})) {
      const bool is_there =
          std::ranges::any_of(members_.queue, [&](const Listed& it) { return it.entry.token == token; });
      const bool concerns = watched_.whom == Watched::Whom::all || watched_.entry.token == token ||
                            (watched_.whom == Watched::Whom::own && token == token_);
      (is_there || !concerns ? seen_ : changes.gone).push_back(token);
    }
    return changes;
  }
  Result<std::vector<Queue>> read(std::span<const std::string>, std::int64_t most, TimesLeft, base::Wait) override {
    Queue queue{{}, std::ssize(members_.queue), members_.last_run};
    for (const auto& listed : members_.queue) {
      if (std::ssize(queue.first) < most) queue.first.push_back(listed);
    }
    return std::vector{queue};
  }
  Result<std::vector<std::string>> list(const std::string& prefix, base::Wait) override {
    return std::vector{prefix + "k"};
  }
  std::int64_t now_us() const override { return 1'000'000'000; }
  base::Duration timeout() const override { return 5s; }
  const std::string& name() const override { return name_; }

 private:
  Listed* own() {
    const auto found =
        std::ranges::find_if(members_.queue, [&](const Listed& listed) { return listed.entry.token == token_; });
    return found == members_.queue.end() ? nullptr : &*found;
  }
  void end(const std::string& token) {
    std::erase_if(members_.queue, [&](const Listed& listed) { return listed.entry.token == token; });
  }
  View view(base::Instant sent) {
    View view{.fence = own()->fence, .ahead = {}, .sent = sent};
    for (const auto& listed : members_.queue) {
      if (listed.entry.order < own()->entry.order) view.ahead.push_back(listed.entry);
    }
    return view;
  }

  Members& members_;
  std::string token_;
  Watched watched_;
  std::vector<std::string> seen_;
  std::string name_ = "a store in memory";
};

class OrderedTest : public testing::Test {
 protected:
  lock::Request request(const std::string& token, const Mode& mode = {}) {
    lock::Request request{{"k", "k"}, token, ttl, {}};
    request.mode = mode;
    return request;
  }
  Ordered& client(const std::string& token) {
    auto& client = clients[token];
    if (!client) client = std::make_unique<Ordered>(std::make_unique<FakeStore>(members));
    return *client;
  }
  base::Wait soon() { return {BootClock::now() + 1s, plain}; }
  // As an Acquisition does: once without queueing, then with it.
  bool acquire(const std::string& token, const Mode& mode = {}) {
    const auto first = client(token).acquire(request(token, mode), lock::Queue::no, soon());
    if (!first || !std::holds_alternative<lock::Busy>(*first)) return is_granted(first);
    return again(token, mode);
  }
  bool again(const std::string& token, const Mode& mode = {}) {
    return is_granted(client(token).acquire(request(token, mode), lock::Queue::yes, soon()));
  }
  static bool is_granted(const Result<lock::Acquired>& acquired) {
    return acquired && std::holds_alternative<lock::Grant>(*acquired);
  }
  void release(const std::string& token) {
    ASSERT_EQ(client(token).release(request(token), {}, soon())->outcome, lock::ReleaseOutcome::released);
  }
  bool is_called(const std::string& token) {
    const auto event = client(token).drain();
    return event && event->granted;
  }
  Listed& listed(const std::string& token) {
    return *std::ranges::find_if(members.queue, [&](const Listed& it) { return it.entry.token == token; });
  }

  Members members;
  base::PlainPoller plain;
  std::map<std::string, std::unique_ptr<Ordered>> clients;
};

TEST(Turn, IsDecidedByTheModesInTheirOrder) {
  const std::vector<Entry> none;
  const std::vector readers{entry(shared), entry(shared)};
  const std::vector mixed{entry(shared), entry(exclusive), entry(shared)};
  EXPECT_TRUE(holds(exclusive, none));
  EXPECT_FALSE(holds(exclusive, readers));
  EXPECT_TRUE(holds(shared, readers));
  EXPECT_FALSE(holds(shared, mixed));
  EXPECT_TRUE(holds(slots(2), std::vector{entry(slots(2))}));
  EXPECT_FALSE(holds(slots(2), std::vector{entry(slots(2)), entry(slots(2))}));
  EXPECT_EQ(holders_in(std::span<const Entry>(mixed)), 1U);
  EXPECT_EQ(rank_behind(mixed), 2);
  EXPECT_EQ(conflicting(shared, mixed), nullptr);
  EXPECT_EQ(conflicting(slots(2), mixed), &mixed.front());
  EXPECT_NE(conflicting(slots(2), std::vector{entry(slots(3))}), nullptr);
}

TEST(Turn, TheFirstWaitersWatchAllAndTheOthersOne) {
  std::vector<Entry> ahead{{1, "a", exclusive, 1}, {2, "b", exclusive, 2}, {3, "c", exclusive, 3}};
  EXPECT_EQ(whom_to_watch(exclusive, ahead).whom, Watched::Whom::all);
  ahead.push_back({4, "d", shared, 4});
  EXPECT_EQ(whom_to_watch(exclusive, ahead).entry.token, "d");
  EXPECT_EQ(whom_to_watch(shared, ahead).entry.token, "c");
}

TEST_F(OrderedTest, GoesToThoseWhoWaitInTheirOrder) {
  EXPECT_TRUE(acquire("a"));
  EXPECT_FALSE(acquire("b"));
  EXPECT_FALSE(acquire("c"));
  release("a");
  EXPECT_FALSE(is_called("c"));
  EXPECT_TRUE(is_called("b"));
  EXPECT_FALSE(again("c"));
  EXPECT_TRUE(again("b"));
}

TEST_F(OrderedTest, OneThatHasGivenUpAheadIsNotWaitedFor) {
  EXPECT_TRUE(acquire("a"));
  EXPECT_FALSE(acquire("b"));
  EXPECT_FALSE(acquire("c"));
  release("b");
  EXPECT_FALSE(is_called("c"));
  release("a");
  EXPECT_TRUE(is_called("c"));
  EXPECT_TRUE(again("c"));
}

TEST_F(OrderedTest, WhoSaysThatItHoldsHasALeaseOfItsTtlAndWhoWaitsALongerOne) {
  EXPECT_TRUE(acquire("a"));
  EXPECT_FALSE(acquire("b"));
  EXPECT_EQ(listed("a").record->state, State::holds);
  EXPECT_EQ(listed("a").record->ttl, ttl);
  EXPECT_EQ(listed("b").record->state, State::waits);
  EXPECT_GT(listed("b").record->ttl, ttl);
  release("a");
  EXPECT_TRUE(is_called("b") && again("b"));
  EXPECT_EQ(listed("b").record->state, State::holds);
  EXPECT_EQ(listed("b").record->ttl, ttl);
}

// Else it could not be told from one that has died before it took the lock up.
TEST_F(OrderedTest, OneThatFindsTheQueueEmptyBehindOthersTakesTheLockUp) {
  const auto joined = client("a").acquire(request("a"), lock::Queue::yes, soon());
  EXPECT_TRUE(is_granted(joined));
  EXPECT_EQ(listed("a").record->state, State::holds);
  EXPECT_EQ(members.confirms, 1);
}

TEST_F(OrderedTest, OneWhoseSlotIsTakenDoesNotSayThatItHolds) {
  EXPECT_TRUE(acquire("a", slots(1)));
  EXPECT_FALSE(acquire("b", slots(1)));
  EXPECT_EQ(listed("b").record->state, State::waits);
}

TEST_F(OrderedTest, AnotherModeIsRefusedAndLeavesNothing) {
  EXPECT_TRUE(acquire("a", slots(2)));
  const auto other = client("b").acquire(request("b", shared), lock::Queue::no, soon());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::configuration);
  EXPECT_EQ(members.queue.size(), 1U);
}

TEST_F(OrderedTest, AWaiterThatDoesNotTakeTheLockUpLosesItsTurnToTheNext) {
  EXPECT_TRUE(acquire("a"));
  EXPECT_FALSE(acquire("frozen"));
  EXPECT_FALSE(acquire("b"));
  release("a");
  const auto event = client("b").drain();
  EXPECT_FALSE(event->granted);
  EXPECT_LE(event->look_at, BootClock::now() + 2s);
  EXPECT_FALSE(again("b"));
  EXPECT_EQ(members.queue.size(), 2U);
  plain.wait({}, event->look_at);
  EXPECT_FALSE(again("b"));
  EXPECT_EQ(members.queue.size(), 1U);
  EXPECT_TRUE(is_called("b") && again("b"));
}

TEST_F(OrderedTest, AWaiterThatHasTakenTheLockUpKeepsIt) {
  EXPECT_TRUE(acquire("a"));
  EXPECT_FALSE(acquire("b"));
  EXPECT_FALSE(acquire("c"));
  release("a");
  const auto event = client("c").drain();
  EXPECT_TRUE(is_called("b") && again("b"));
  plain.wait({}, event->look_at);
  EXPECT_FALSE(again("c"));
  EXPECT_EQ(members.queue.size(), 2U);
}

// Where nothing is told, since all who are told are frozen, the others see for themselves.
TEST_F(OrderedTest, WhoIsNearLooksOnlyWhenWhoHoldsIsGone) {
  EXPECT_TRUE(acquire("a"));
  for (const auto* const waiter : {"b", "c", "d", "e"}) EXPECT_FALSE(acquire(waiter));
  const auto looks = members.looks;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(again("e"));
  EXPECT_EQ(members.looks, looks);
  EXPECT_EQ(members.glances, 3);
  release("a");
  EXPECT_FALSE(again("e"));
  EXPECT_EQ(members.looks, looks + 1);
  // Its turn is another's now, who may not take it up.
  EXPECT_FALSE(again("e"));
  EXPECT_EQ(members.looks, looks + 2);
}

TEST_F(OrderedTest, OneWhosePlaceIsGoneFindsThatAlsoWhileItOnlyGlances) {
  EXPECT_TRUE(acquire("a"));
  EXPECT_FALSE(acquire("b"));
  EXPECT_FALSE(acquire("c"));
  EXPECT_FALSE(again("c"));
  std::erase_if(members.queue, [](const Listed& it) { return it.entry.token == "c"; });
  EXPECT_FALSE(again("c"));
  EXPECT_EQ(members.queue.back().entry.token, "c");
}

TEST_F(OrderedTest, OneWhosePlaceIsGoneComesBackAtTheEnd) {
  EXPECT_TRUE(acquire("a"));
  EXPECT_FALSE(acquire("b"));
  std::erase_if(members.queue, [](const Listed& it) { return it.entry.token == "b"; });
  EXPECT_FALSE(again("b"));
  EXPECT_EQ(members.queue.size(), 2U);
}

TEST_F(OrderedTest, AWaitersTokenIsNotThatOfAHolder) {
  EXPECT_TRUE(acquire("a"));
  EXPECT_FALSE(acquire("b"));
  Ordered other(std::make_unique<FakeStore>(members));
  EXPECT_EQ(other.renew(request("b"), lock::Watch::no, soon())->holder, Ownership::Holder::other);
  EXPECT_EQ(other.check(request("b"), soon())->holder, Ownership::Holder::other);
}

TEST_F(OrderedTest, ALockThatIsGoneIsNotRenewedAndOneReleasedElsewhereSaysSo) {
  EXPECT_TRUE(acquire("a"));
  Ordered other(std::make_unique<FakeStore>(members));
  EXPECT_EQ(other.release(request("a"), {}, soon())->outcome, lock::ReleaseOutcome::released);
  const auto renewed = client("a").renew(request("a"), lock::Watch::yes, soon());
  EXPECT_EQ(renewed->holder, Ownership::Holder::nobody);
  EXPECT_TRUE(renewed->is_released);
}

TEST_F(OrderedTest, AHoldersEndIsToldWhereItWatches) {
  EXPECT_TRUE(acquire("a"));
  EXPECT_TRUE(client("a").renew(request("a"), lock::Watch::yes, soon()));
  EXPECT_FALSE(client("a").drain()->touched);
  Ordered other(std::make_unique<FakeStore>(members));
  EXPECT_EQ(other.release(request(""), {.force = lock::Force::yes}, soon())->holders.size(), 1U);
  EXPECT_TRUE(client("a").drain()->touched);
}

TEST_F(OrderedTest, WithHoldTheLockStaysWithItsEntry) {
  EXPECT_TRUE(acquire("a"));
  EXPECT_EQ(client("a").release(request("a"), {.hold = 1min}, soon())->outcome, lock::ReleaseOutcome::released);
  EXPECT_FALSE(acquire("b"));
  const auto seen = client("b").inspect(std::vector<std::string>{"k"}, 10, soon());
  ASSERT_EQ(seen->front().holders.size(), 1U);
  EXPECT_TRUE(seen->front().holders.front().record->has_ended);
  EXPECT_EQ(seen->front().waiting, 1);
}

TEST_F(OrderedTest, AFailedRunDoesNotMakeTheLastSuccessForgotten) {
  EXPECT_TRUE(acquire("a"));
  const lock::ReleaseOptions succeeded{.last_run = lock::LastRun{.exit_status = 0}.encode(), .remember = 1h};
  EXPECT_TRUE(client("a").release(request("a"), succeeded, soon()));
  EXPECT_TRUE(acquire("b"));
  const lock::ReleaseOptions failed{.last_run = lock::LastRun{.exit_status = 3}.encode(), .remember = 1h};
  EXPECT_TRUE(client("b").release(request("b"), failed, soon()));
  auto once = request("c");
  once.once = 1h;
  const auto acquired = client("c").acquire(once, lock::Queue::no, soon());
  ASSERT_TRUE(acquired && std::holds_alternative<lock::AlreadySucceeded>(*acquired));
  EXPECT_EQ(std::get<lock::AlreadySucceeded>(*acquired).last_run->exit_status, 3);
}

}  // namespace
}  // namespace rlock::ordered
