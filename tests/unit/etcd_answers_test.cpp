// What etcd is asked for, and what may come back.
#include <gtest/gtest.h>

#include <array>

#include "base/text/base64.hpp"
#include "stores/etcd/answers.hpp"
#include "stores/etcd/etcd_store.hpp"
#include "stores/etcd/leases.hpp"
#include "stores/etcd/shared_lease.hpp"

namespace rlock::etcd {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

TEST(Base64, IsAsTheStandardHasIt) {
  const std::array<std::pair<std::string, std::string>, 5> known{
      {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {std::string("\xff\xfe\0\x10", 4), "//4AEA=="}}};
  for (const auto& [bytes, text] : known) {
    EXPECT_EQ(base::to_base64(bytes), text);
    EXPECT_EQ(base::from_base64(text), bytes);
  }
}

TEST(Base64, AnythingElseIsNone) {
  for (const auto* text : {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9v=", "Zm9v\n", "Z-9v", "Zm=v", "====", "Zm8"}) {
    EXPECT_FALSE(base::from_base64(text)) << text;
  }
}

TEST(EtcdKeys, OfOneLockAreNotThoseOfAnother) {
  const Keys keys("/rlock");
  EXPECT_EQ(keys.entry("a/b", "t-1", {}), "/rlock/q/a%2fb/t%2d1-x");
  EXPECT_EQ(keys.last_run("a\x7f%"), "/rlock/l/a%7f%25");
  EXPECT_EQ(keys.queue("a").from, "/rlock/q/a/");
  EXPECT_EQ(keys.queue("a").to, "/rlock/q/a0");
  const auto within = [](const Range& range, const std::string& key) { return range.from <= key && key < range.to; };
  EXPECT_TRUE(within(keys.entries("a", "t"), keys.entry("a", "t", {.kind = lock::Mode::Kind::slots, .slots = 12})));
  EXPECT_FALSE(within(keys.entries("a", "t"), keys.entry("a", "t-x", {})));
  EXPECT_FALSE(within(keys.queue("a"), keys.entry("a/b", "t", {})));
  EXPECT_TRUE(within(keys.queues("a/"), keys.entry("a/b", "t", {})));
  EXPECT_EQ(keys.wire_key(keys.entry("a/b\n%", "t", {})), "a/b\n%");
  EXPECT_EQ(keys.wire_key(keys.last_run("a/b")), "a/b");
  EXPECT_FALSE(keys.wire_key("/rlo"));
}

TEST(EtcdKeys, AnEntryNamesItsTokenAndItsMode) {
  const auto entry = read_entry_name(Keys("").entry("k", "a-b/c", {.kind = lock::Mode::Kind::shared}));
  EXPECT_EQ(entry.token, "a-b/c");
  EXPECT_EQ(entry.mode.kind, lock::Mode::Kind::shared);
  EXPECT_EQ(read_entry_name("/q/k/what").mode, lock::Mode{});
  EXPECT_EQ(read_entry_name("").mode, lock::Mode{});
}

TEST(EtcdKeys, ARangeEndsBehindAllThatBeginWithThis) {
  EXPECT_EQ(beginning_with("a\xff\xff").to, "b");
  EXPECT_EQ(beginning_with("\xff").to, std::string(1, '\0'));
}

TEST(SharedLease, LastsForWhatIsPutThereAtItsEnd) {
  constexpr std::int64_t day_us = 86'400'000'000;
  const auto at = [](std::int64_t us) { return shared_lease("it", 8 * 24h, us); };
  EXPECT_EQ(at(5 * day_us).id, at(6 * day_us - 1).id);
  EXPECT_NE(at(5 * day_us).id, at(6 * day_us).id);
  EXPECT_GE(at(5 * day_us).ttl, 9 * 24h);
  EXPECT_GT(at(0).id, 0);
  EXPECT_NE(at(0).id, shared_lease("another", 8 * 24h, 0).id);
  EXPECT_NE(at(0).id, shared_lease("it", 7 * 24h, 0).id);
}

TEST(EtcdLeases, ThatARecordNamesAreReadAgain) {
  const std::vector<LeaseId> some{1, 0x7fffffffffffffff, 0xabc};
  EXPECT_EQ(session_of(some), "1,7fffffffffffffff,abc");
  EXPECT_EQ(leases_of(session_of(some)), some);
  EXPECT_EQ(session_of({}), "");
  EXPECT_TRUE(leases_of("").empty());
  EXPECT_EQ(leases_of("-1,0,x,8000000000000000,,5,5 "), std::vector<LeaseId>{5});
  // Of many the last ones, and no more are read.
  std::vector<LeaseId> many;
  for (LeaseId lease = 1; lease <= 1000; ++lease) many.push_back(lease);
  const auto last = leases_of(session_of(many));
  EXPECT_LT(last.size(), 20U);
  EXPECT_EQ(last.back(), 1000);
  std::string text;
  for (const LeaseId lease : many) text += session_of({&lease, 1}) + ",";
  EXPECT_LT(leases_of(text).size(), 20U);
}

TEST(EtcdAnswers, ALeaseIsIdleThatIsThereWithNothingUnderIt) {
  EXPECT_TRUE(is_idle_lease(Json::parse(R"({"header":{},"TTL":"5"})")));
  EXPECT_TRUE(is_idle_lease(Json::parse(R"({"header":{},"TTL":"5","keys":[]})")));
  for (const auto* const text : {R"({"header":{},"TTL":"5","keys":["a2V5"]})", R"({"header":{},"TTL":"-1"})",
                                 R"({"header":{},"TTL":"5","keys":"x"})", R"({"TTL":"5"})", "5", "[]"}) {
    EXPECT_FALSE(is_idle_lease(Json::parse(text))) << text;
  }
}

TEST(EtcdAnswers, NumbersAreText) {
  const auto outcome = read_transaction(Json::parse(
      R"({"header":{"revision":"7"},"succeeded":true,"responses":[{"response_put":{}},{"response_range":
      {"kvs":[{"key":"a2V5","create_revision":"5","mod_revision":"6","value":"dg==","lease":"9"}],"count":"3"}}]})"));
  ASSERT_TRUE(outcome && outcome->steps.size() == 2U);
  EXPECT_TRUE(outcome->held);
  EXPECT_EQ(outcome->revision, 7U);
  const auto& range = outcome->steps[1];
  EXPECT_EQ(range.count, 3);
  EXPECT_EQ(range.found.at(0).key, "key");
  EXPECT_EQ(range.found.at(0).value, "v");
  EXPECT_EQ(range.found.at(0).created, 5U);
  EXPECT_EQ(range.found.at(0).version, 6U);
  EXPECT_EQ(range.found.at(0).lease, 9);
}

TEST(EtcdAnswers, WhatTheWatchOfAPastThatIsGoneSays) {
  EXPECT_TRUE(read_news(Json::parse(R"({"canceled":true,"compact_revision":"3"})"))->is_compacted);
  const auto denied = read_news(Json::parse("{\"canceled\":true,\"cancel_reason\":\"denied\\u001b\"}"));
  EXPECT_EQ(denied->ended, "denied\\x1b");
  EXPECT_FALSE(read_news(Json::parse(R"({"canceled":true})"))->ended.empty());
  EXPECT_TRUE(read_news(Json::parse(R"({"header":{},"created":true})"))->ended.empty());
}

// Answers each call with the same.
class Forger final : public Client {
 public:
  explicit Forger(Answer answer) : answer_(std::move(answer)) {}
  base::Result<std::vector<Answer>> flight(std::span<const Call> calls, base::Wait) override {
    return std::vector<Answer>(calls.size(), answer_);
  }
  base::Instant sent_at() const override { return base::BootClock::now(); }
  std::int64_t now_us() const override { return 0; }
  base::Result<void> stream(const Call&, base::Wait) override { return {}; }
  std::vector<pollfd> wait_fds() const override { return {}; }
  base::Result<std::vector<Json>> drain() override { return std::vector<Json>{*answer_}; }
  base::Duration timeout() const override { return 1s; }
  const std::string& name() const override { return name_; }

 private:
  Answer answer_;
  std::string name_ = "etcd at it:1";
};

// Each step that answers at all says that it does not understand, and by whom.
void expect_not_understood(const auto& step, const std::string& answer) {
  if (step) return;
  EXPECT_EQ(step.error().code, base::ErrorCode::internal) << answer;
  EXPECT_TRUE(step.error().message.starts_with("etcd at it:1")) << step.error().message;
}

TEST(EtcdAnswers, WhatMakesNoSenseIsSaidToMakeNone) {
  base::PlainPoller poller;
  const base::Wait wait(base::BootClock::now() + 10s, poller);
  const ordered::Record record{.state = ordered::Record::State::holds, .ttl = 10s};
  for (const auto* const text : {
           "null",
           "[]",
           "\"x\"",
           "5",
           "{}",
           R"({"header":5,"TTL":"10"})",
           R"({"header":{"revision":{}},"TTL":[]})",
           R"({"header":{"revision":"-1"},"TTL":"10"})",
           R"({"header":{"revision":"5"},"succeeded":1,"TTL":"1"})",
           R"({"header":{"revision":"5"},"TTL":"10","responses":5})",
           R"({"header":{"revision":"99999999999999999999"},"TTL":"99999999999999999999"})",
           R"({"header":{"revision":"5"},"TTL":"10","succeeded":true,"responses":[1,2]})",
           R"({"header":{"revision":"5"},"TTL":"10","responses":[{"response_range":{"kvs":5}},{}]})",
           R"({"header":{"revision":"5"},"TTL":"10","responses":[{"response_range":{"kvs":[{"key":"?"}]}},{}]})",
           R"({"header":{"revision":"5"},"TTL":"10","responses":[{"response_range":{"kvs":[5]}},{}]})",
           R"({"header":{"revision":"5"},"TTL":"10","responses":[{"response_range":{"count":"-1"}},{}]})",
           R"({"header":{"revision":"5"},"TTL":"10","responses":[{"response_range":[]},{}]})",
           R"({"header":{"revision":"5"},"TTL":"10","succeeded":true,"responses":[]})",
           R"({"result":{"TTL":5},"kvs":[{"key":"a","create_revision":1.5}]})",
           R"({"canceled":"x","events":[{}]})",
           R"({"events":[{"kv":5}]})",
           R"({"events":{}})",
       }) {
    EtcdStore store(std::make_unique<Forger>(Json::parse(text)), "/rlock", "key");
    const auto entered = store.enter("t", {}, record, ordered::Join::always, wait);
    EXPECT_FALSE(entered) << text;
    expect_not_understood(entered, text);
    const auto confirmed = store.confirm(record, wait);
    EXPECT_FALSE(confirmed && *confirmed) << text;
    expect_not_understood(confirmed, text);
    expect_not_understood(store.look(wait), text);
    expect_not_understood(store.keep_alive(wait), text);
    expect_not_understood(store.find("t", wait), text);
    expect_not_understood(store.leave({}, wait), text);
    expect_not_understood(store.was_released("t", wait), text);
    const std::vector<std::string> keys{"a", "b"};
    expect_not_understood(store.read(keys, 5, ordered::TimesLeft::yes, wait), text);
    expect_not_understood(store.list("", wait), text);
    expect_not_understood(store.drain(), text);
  }
}

TEST(EtcdAnswers, WhatIsRefusedForUnknownReasonsIsQuoted) {
  base::PlainPoller poller;
  const base::Wait wait(base::BootClock::now() + 10s, poller);
  EtcdStore store(std::make_unique<Forger>(std::unexpected(Refusal{11, "out of it"})), "/rlock", "key");
  const auto looked = store.look(wait);
  ASSERT_FALSE(looked);
  EXPECT_EQ(looked.error().message, "etcd at it:1: out of it");
}

}  // namespace
}  // namespace rlock::etcd
