#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "private_etcd.hpp"
#include "stores/etcd/client/http_client.hpp"
#include "stores/etcd/etcd_store.hpp"

namespace rlock::etcd {

using namespace std::chrono_literals;
using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::Result;
using lock::Mode;
using ordered::Entry;
using ordered::Join;
using ordered::LeaveOptions;
using ordered::Record;
using ordered::Watched;
using State = Record::State;

inline base::PlainPoller poller;

inline base::Wait wait() { return {BootClock::now() + 30s, poller}; }

/// A client whose flights can be meddled with.
class Meddler final : public Client {
 public:
  enum class Fault {
    none,
    no_answer,  ///< it is carried out
    held_back,  ///< it is carried out when deliver() says so
    sent_twice  ///< and only the second time is answered
  };

  explicit Meddler(std::unique_ptr<Client> inner) : inner_(std::move(inner)) {}

  /// Of the flights that follow the next `after` ones, one has this fault.
  void next(Fault fault, int after = 0) { fault_ = fault, after_ = after; }
  /// What was held back arrives now.
  std::vector<Answer> deliver() { return *inner_->flight(held_back_, wait()); }

  Result<std::vector<Answer>> flight(std::span<const Call> calls, base::Wait until) override {
    ++flights;
    flown.push_back(BootClock::now());
    for (const auto& call : calls) paths.push_back(call.path);
    const auto fault = after_-- == 0 ? fault_ : Fault::none;
    if (fault == Fault::held_back) held_back_.assign(calls.begin(), calls.end());
    if (fault == Fault::no_answer || fault == Fault::sent_twice) (void)inner_->flight(calls, until);
    if (fault == Fault::no_answer || fault == Fault::held_back) return base::fail(ErrorCode::unreachable, "no answer");
    return inner_->flight(calls, until);
  }
  base::Instant sent_at() const override { return inner_->sent_at(); }
  std::int64_t now_us() const override { return inner_->now_us(); }
  Result<void> stream(const Call& call, base::Wait until) override {
    ++streams;
    return inner_->stream(call, until);
  }
  std::vector<pollfd> wait_fds() const override { return inner_->wait_fds(); }
  Result<std::vector<nlohmann::json>> drain() override { return inner_->drain(); }
  Duration timeout() const override { return inner_->timeout(); }
  const std::string& name() const override { return inner_->name(); }

  int flights = 0;
  std::vector<base::Instant> flown;  ///< before each
  int streams = 0;
  std::vector<std::string> paths;

 private:
  std::unique_ptr<Client> inner_;
  Fault fault_ = Fault::none;
  int after_ = -1;
  std::vector<Call> held_back_;
};
using Fault = Meddler::Fault;

inline std::unique_ptr<Client> client_of(const PrivateEtcd& etcd) {
  const auto address = Address::parse("etcd://127.0.0.1:" + std::to_string(etcd.port()));
  return std::make_unique<HttpClient>(*address, 5s);
}

/// A store, and what is between it and the member.
struct One {
  One(const PrivateEtcd& etcd, const std::string& key) : One(std::make_unique<Meddler>(client_of(etcd)), key) {}
  One(std::unique_ptr<Meddler> between, const std::string& key)
      : client(*between), store(std::move(between), "/rlock", key) {}

  std::optional<ordered::View> enter(const std::string& token, const Record& record, Join join = Join::always) {
    return *store.enter(token, mode, record, join, wait());
  }
  std::optional<ordered::View> confirm(const Record& record) { return *store.confirm(record, wait()); }

  Meddler& client;
  EtcdStore store;
  Mode mode;
};

inline Record of_state(State state, Duration ttl) {
  Record record{.state = state, .ttl = ttl};
  record.who.host = "h";
  return record;
}
inline Record holding(Duration ttl) { return of_state(State::holds, ttl); }
inline Record waiting(Duration ttl) { return of_state(State::waits, ttl); }

/// Tests at one real member, each on a lock of its own.
class EtcdStoreTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (PrivateEtcd::is_installed()) etcd_ = PrivateEtcd::start();
  }
  static void TearDownTestSuite() { etcd_.reset(); }
  void SetUp() override {
    if (!PrivateEtcd::is_installed()) GTEST_SKIP() << "etcd is not installed";
    ASSERT_TRUE(etcd_) << "etcd does not start";
    const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
    key_ = std::string("it/") + info->name();
  }

  One another() { return {*etcd_, key_}; }
  ordered::Queue queue() {
    return std::move(another().store.read({&key_, 1}, 10, ordered::TimesLeft::yes, wait())->front());
  }
  std::size_t size() { return static_cast<std::size_t>(queue().size); }
  /// What the entry of the holder has left.
  Duration left() { return *queue().first.front().ttl_left; }
  /// The leases that are there, of whomever.
  static std::set<std::string> leases() {
    const Call call{"/v3/lease/leases", nlohmann::json::object()};
    const auto answer = (*client_of(*etcd_)->flight({&call, 1}, wait())).front();
    std::set<std::string> ids;
    for (const auto& lease : answer->value("leases", nlohmann::json::array())) ids.insert(lease.at("ID"));
    return ids;
  }
  /// Those that have come since.
  static std::set<std::string> new_leases(const std::set<std::string>& before) {
    auto now = leases();
    std::erase_if(now, [&](const auto& id) { return before.contains(id); });
    return now;
  }

  static inline std::unique_ptr<PrivateEtcd> etcd_;
  std::string key_;
};

}  // namespace rlock::etcd
