#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/wait/poller.hpp"
#include "forged_gateway.hpp"
#include "stores/etcd/client/answer.hpp"
#include "stores/etcd/client/http_client.hpp"

namespace rlock::etcd {
namespace {

using namespace std::chrono_literals;
using base::BootClock;
using base::ErrorCode;
using Request = ForgedGateway::Request;

const std::string date = "Date: Mon, 23 Nov 2026 01:49:42 GMT\r\n";
constexpr std::int64_t date_us = 1'795'398'582'000'000;

// A client of a forged gateway.
struct Asked {
  explicit Asked(ForgedGateway::Answer answer, std::string user = "") : gateway(std::move(answer)) {
    address.socket = gateway.path();
    address.user = std::move(user);
    address.password = "old";
    client.emplace(address, 5s);
  }

  base::Wait wait() { return {BootClock::now() + 30s, poller}; }
  base::Result<std::vector<Answer>> flight(std::vector<Call> calls = {{"/v3/kv/txn", {{"a", "b"}}}}) {
    return client->flight(calls, wait());
  }
  ErrorCode failure() {
    const auto result = flight();
    EXPECT_FALSE(result);
    if (!result) message = result.error().message;
    return result ? ErrorCode::usage : result.error().code;
  }

  base::PlainPoller poller;
  ForgedGateway gateway;
  Address address;
  std::optional<HttpClient> client;
  std::string message;
};

TEST(EtcdClient, CallsTravelTogetherAndTheAnswersComeInTheirOrder) {
  Asked it([](const Request& request) {
    if (request.body.contains("three")) return ForgedGateway::refusal(404, 5, "etcdserver: requested lease not found");
    return ForgedGateway::ok(request.body, date);
  });
  const auto before = BootClock::now();
  const auto answers = it.flight({{"/1", {{"n", "one"}}}, {"/2", {{"n", "two"}}}, {"/3", {{"n", "three"}}}});
  ASSERT_TRUE(answers);
  ASSERT_EQ(answers->size(), 3U);
  EXPECT_EQ((*answers)[0]->at("n"), "one");
  EXPECT_EQ((*answers)[1]->at("n"), "two");
  EXPECT_EQ((*answers)[2].error().code, 5);
  EXPECT_EQ(it.gateway.asked(), "/1 /2 /3");
  EXPECT_GE(it.client->sent_at(), before);
  EXPECT_GE(it.client->now_us(), date_us);
  EXPECT_LT(it.client->now_us(), date_us + 60'000'000);
}

TEST(EtcdClient, ManyLargeCallsDoNotBlockEachOther) {
  Asked it([](const Request& request) { return ForgedGateway::ok(request.body); });
  const std::vector<Call> calls(300, Call{"/v3/kv/txn", {{"a", std::string(20'000, 'x')}}});
  const auto answers = it.flight(calls);
  ASSERT_TRUE(answers);
  EXPECT_EQ(answers->size(), calls.size());
}

TEST(EtcdClient, EachErrorHasItsClass) {
  std::string answer;
  Asked it([&](const Request&) { return answer; });
  const auto failure_of = [&](int status, int code, const std::string& text) {
    answer = ForgedGateway::refusal(status, code, text);
    return it.failure();
  };
  EXPECT_EQ(failure_of(503, 14, "etcdserver: no leader"), ErrorCode::unreachable);
  EXPECT_EQ(failure_of(408, 1, "grpc: the client connection is closing"), ErrorCode::unreachable);
  EXPECT_EQ(failure_of(504, 4, "context deadline exceeded"), ErrorCode::unreachable);
  EXPECT_EQ(failure_of(429, 8, "etcdserver: too many requests"), ErrorCode::unreachable);
  EXPECT_EQ(failure_of(500, 13, "x"), ErrorCode::unreachable);
  EXPECT_EQ(failure_of(500, 2, "x"), ErrorCode::unreachable);
  EXPECT_EQ(failure_of(429, 8, "etcdserver: mvcc: database space exceeded"), ErrorCode::unready);
  EXPECT_EQ(failure_of(403, 7, "etcdserver: permission denied"), ErrorCode::refused);
  EXPECT_EQ(failure_of(501, 12, "Method Not Allowed"), ErrorCode::configuration);
  EXPECT_EQ(failure_of(400, 3, "etcdserver: user name is empty"), ErrorCode::refused);
  EXPECT_EQ(failure_of(503, 14, "transport: authentication handshake failed: x"), ErrorCode::configuration);
  EXPECT_EQ(failure_of(503, 14, "error reading server preface: remote error: tls: bad certificate"),
            ErrorCode::configuration);
  EXPECT_EQ(failure_of(503, 14, "error reading server preface: EOF"), ErrorCode::unreachable);
  answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 19\r\n\r\n404 page not found\n";
  EXPECT_EQ(it.failure(), ErrorCode::configuration);
  for (const std::string& text :
       {ForgedGateway::ok("<html>"), ForgedGateway::ok("[]"), ForgedGateway::ok(std::string(99, '[')),
        ForgedGateway::ok(std::string(99, '[') + std::string(99, ']')),
        std::string("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"), std::string("CLOSE"),
        std::string("+OK\r\nCLOSE"), std::string("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{CLOSE")}) {
    answer = text;
    EXPECT_EQ(it.failure(), ErrorCode::unreachable) << text;
  }
}

TEST(EtcdClient, ATextThatIsNotOfEtcdIsNotRepeated) {
  Asked it([](const Request&) { return ForgedGateway::refusal(500, 2, "cannot read: password=hunter2"); });
  EXPECT_EQ(it.failure(), ErrorCode::unreachable);
  EXPECT_FALSE(it.message.contains("hunter2")) << it.message;
}

TEST(EtcdClient, ASilentMemberCostsTwoSeconds) {
  Asked it([](const Request&) { return ""; });
  const auto before = BootClock::now();
  EXPECT_EQ(it.failure(), ErrorCode::unreachable);
  EXPECT_GE(BootClock::now() - before, 2s);
  EXPECT_LT(BootClock::now() - before, 4500ms);  // of the 5 s that the client was given
}

TEST(EtcdClient, AConnectionThatWasClosedMeanwhileIsMadeAgain) {
  Asked it([](const Request&) { return ForgedGateway::ok("{}") + "CLOSE"; });
  ASSERT_TRUE(it.flight());
  const auto until = BootClock::now() + 30s;
  while (it.gateway.connections() > 0 && BootClock::now() < until) std::this_thread::yield();
  EXPECT_TRUE(it.flight());
}

// Grants "Tn" for the n-th password that is "new", and takes the last one alone.
struct Guard {
  std::string operator()(const Request& request) {
    if (request.head.contains("/v3/auth/authenticate")) {
      if (is_off) return ForgedGateway::refusal(400, 9, "etcdserver: authentication is not enabled");
      if (!request.body.contains(R"("password":"new")")) {
        return ForgedGateway::refusal(400, 3, "etcdserver: authentication failed, invalid user ID or password");
      }
      return ForgedGateway::ok(R"({"token":"T)" + std::to_string(++*granted) + R"("})");
    }
    if (is_off) return ForgedGateway::ok("{}");
    if (!request.head.contains("Authorization: "))
      return ForgedGateway::refusal(400, 3, "etcdserver: user name is empty");
    const bool is_last = request.head.contains("Authorization: T" + std::to_string(*granted) + "\r\n");
    return is_last ? ForgedGateway::ok("{}") : ForgedGateway::refusal(401, 16, "etcdserver: invalid auth token");
  }

  std::atomic<int>* granted;
  bool is_off = false;
};

TEST(EtcdClient, ATokenIsAskedForAndAgainWhereItHasEnded) {
  std::atomic<int> granted = 0;
  Asked it(Guard{&granted}, "me");
  it.address.password = "new";
  it.client.emplace(it.address, 5s);
  EXPECT_TRUE(it.flight());
  EXPECT_TRUE(it.flight());
  EXPECT_EQ(granted, 1);
  ++granted;  // the member has forgotten T1
  EXPECT_TRUE(it.flight());
  EXPECT_EQ(granted, 3);
}

TEST(EtcdClient, ATokenThatIsNeverAcceptedIsAskedForOnceAFlight) {
  Asked it(
      [](const Request& request) {
        if (request.head.contains("authenticate")) return ForgedGateway::ok(R"({"token":"T"})");
        return ForgedGateway::refusal(401, 16, "etcdserver: invalid auth token");
      },
      "me");
  EXPECT_EQ(it.failure(), ErrorCode::refused);
  EXPECT_EQ(it.gateway.asked(), "/v3/auth/authenticate /v3/kv/txn /v3/auth/authenticate /v3/kv/txn");
}

TEST(EtcdClient, ATokenThatEndsBetweenTwoCallsFailsTheFlight) {
  Asked it(
      [](const Request& request) {
        if (request.head.contains("authenticate")) return ForgedGateway::ok(R"({"token":"T"})");
        if (request.head.contains("grant")) return ForgedGateway::ok("{}");
        return ForgedGateway::refusal(400, 3, "etcdserver: revision of auth store is old");
      },
      "me");
  const auto result = it.flight({{"/v3/lease/grant", {}}, {"/v3/kv/txn", {}}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::unreachable);
}

TEST(EtcdClient, APasswordThatWasChangedIsReadAgain) {
  std::atomic<int> granted = 0;
  Asked it(Guard{&granted}, "me");
  EXPECT_EQ(it.failure(), ErrorCode::refused);
  EXPECT_FALSE(it.message.contains("old")) << it.message;
  it.address.password_source = {.name = "a file", .read_again = [] { return std::optional<std::string>("new"); }};
  it.client.emplace(it.address, 5s);
  EXPECT_TRUE(it.flight());
}

TEST(EtcdClient, AClusterWithoutUsersNeedsNone) {
  std::atomic<int> granted = 0;
  Asked it(Guard{&granted, true}, "me");
  EXPECT_TRUE(it.flight());
  EXPECT_TRUE(it.flight());
  EXPECT_EQ(it.gateway.asked(), "/v3/auth/authenticate /v3/kv/txn /v3/kv/txn");
}

// Waits for the stream, and drains it.
base::Result<std::vector<nlohmann::json>> heard_by(Asked& it) {
  auto fds = it.client->wait_fds();
  EXPECT_EQ(fds.size(), 1U);
  EXPECT_EQ(it.poller.wait(fds, BootClock::now() + 20s), base::Readiness::ready);
  return it.client->drain();
}

TEST(EtcdClient, AStreamTellsWhatComesUntilItSaysAnError) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  Asked it([&](const Request&) {
    return head + ForgedGateway::chunk("{\"result\":{\"created\":true}}\n{\"result\":") +
           ForgedGateway::chunk("{\"n\":2}}\n");
  });
  ASSERT_TRUE(it.client->stream({"/v3/watch", {}}, it.wait()));
  std::vector<nlohmann::json> all;
  while (all.size() < 2) {
    const auto more = heard_by(it);
    ASSERT_TRUE(more);
    all.insert(all.end(), more->begin(), more->end());
  }
  EXPECT_EQ(all[0].at("created"), true);
  EXPECT_EQ(all[1].at("n"), 2);
}

TEST(EtcdClient, AStreamThatEndsFailsOnce) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto error = ForgedGateway::chunk(R"({"error":{"grpc_code":14,"message":"etcdserver: no leader"}})"
                                          "\n");
  for (const std::string& answer :
       {head + error, head + "0\r\n\r\n", head + "CLOSE",
        ForgedGateway::refusal(403, 7, "etcdserver: permission denied"), head + ForgedGateway::chunk("nonsense\n")}) {
    Asked it([&](const Request&) { return answer; });
    ASSERT_TRUE(it.client->stream({"/v3/watch", {}}, it.wait()));
    auto heard = heard_by(it);
    while (heard) heard = heard_by(it);
    EXPECT_EQ(heard.error().code, ErrorCode::unreachable) << answer;
    EXPECT_TRUE(it.client->wait_fds().empty());
    EXPECT_TRUE(it.client->drain());
  }
}

TEST(EtcdClient, AStreamOfAMemberThatFailedSaysSo) {
  Asked it([](const Request& request) { return request.head.contains("watch") ? "" : "CLOSE"; });
  ASSERT_TRUE(it.client->stream({"/v3/watch", {}}, it.wait()));
  EXPECT_EQ(it.failure(), ErrorCode::unreachable);
  EXPECT_FALSE(heard_by(it));
}

TEST(EtcdClient, ReadsDates) {
  EXPECT_EQ(read_date("Mon, 23 Nov 2026 01:49:42 GMT"), date_us);
  EXPECT_EQ(read_date("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
  for (const char* text :
       {"", "Mon, 23 Nov 2026 01:49:42 CET", "Mon, 31 Feb 2026 01:49:42 GMT", "Mon, 23 Nox 2026 01:49:42 GMT",
        "Mon, 23 Nov 2026 24:49:42 GMT", "Mon, 23 Nov -026 01:49:42 GMT"}) {
    EXPECT_FALSE(read_date(text)) << text;
  }
}

TEST(EtcdClient, ReadsJsonOfABoundedSize) {
  EXPECT_TRUE(read_json(R"({"a":["[[[[\"",1]})"));
  EXPECT_FALSE(read_json("{"));
  EXPECT_FALSE(read_json(std::string(1000, '[') + std::string(1000, ']')));
  std::string wide = "[0";
  for (int i = 0; i < 300'000; ++i) wide += ",0";
  EXPECT_FALSE(read_json(wide + "]"));
}

}  // namespace
}  // namespace rlock::etcd
