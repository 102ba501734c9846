#include "net/http.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rlock::net {
namespace {

const std::string with_length = "HTTP/1.1 200 OK\r\nDate: Mon, 23 Nov 2026 01:49:42 GMT\r\nContent-Length: 2\r\n\r\n{}";
const std::string in_chunks =
    "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n3\r\n{\"a\r\n4;x=y\r\n\":1}\r\n0\r\nT: "
    "v\r\n\r\n";

// What is read of these bytes where so many come at a time.
std::vector<HttpAnswer> read_by(std::size_t step, const std::string& bytes) {
  HttpReader reader;
  std::vector<HttpAnswer> answers;
  std::string unread;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    unread += bytes.substr(at, step);
    while (!unread.empty()) {
      const auto taken = reader.feed(unread);
      if (!taken) return answers;
      unread.erase(0, *taken);
      if (reader.is_complete()) answers.push_back(reader.take());
    }
  }
  return answers;
}

TEST(HttpReader, ReadsAnswersThatFollowEachOtherHoweverTheirBytesCome) {
  const auto bytes = with_length + "HTTP/1.1 100 Continue\r\n\r\n" + in_chunks + with_length;
  for (const std::size_t step : {1U, 2U, 7U, 1000U}) {
    const auto answers = read_by(step, bytes);
    ASSERT_EQ(answers.size(), 3U) << step;
    EXPECT_EQ(answers[0].status, 200);
    EXPECT_EQ(answers[0].date, "Mon, 23 Nov 2026 01:49:42 GMT");
    EXPECT_EQ(answers[0].body, "{}");
    EXPECT_EQ(answers[1].status, 404);
    EXPECT_EQ(answers[1].date, "");
    EXPECT_EQ(answers[1].body, R"({"a":1})");
    EXPECT_EQ(answers[2].body, "{}");
  }
}

TEST(HttpReader, AnAnswerWithoutAnEndIsItsHead) {
  const auto answers =
      read_by(1000, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].status, 400);
  EXPECT_EQ(answers[0].body, "");
}

TEST(HttpReader, APartIsTakenOfAnAnswerThatGoesOn) {
  HttpReader reader;
  ASSERT_TRUE(reader.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\none\ntwo"));
  EXPECT_FALSE(reader.is_complete());
  const auto part = reader.take();
  EXPECT_EQ(part.status, 200);
  EXPECT_EQ(part.body, "one\nt");
  EXPECT_EQ(reader.take().body, "");
}

TEST(HttpReader, WhatIsNotHttpFails) {
  for (const std::string bytes : {"+OK\r\n", "\x15\x03\x01", "HTTP/1.1 x\r\n\r\n",
                                  "HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"}) {
    HttpReader reader;
    const auto taken = reader.feed(bytes);
    EXPECT_FALSE(taken) << bytes;
    EXPECT_FALSE(reader.feed("HTTP/1.1 200 OK\r\n")) << bytes;
  }
}

TEST(HttpReader, OneThatIsTooLongIsPassedOver) {
  const std::string length = std::to_string((8U << 20U) + 1);
  std::string bytes = "HTTP/1.1 200 OK\r\nContent-Length: " + length + "\r\n\r\n" +
                      std::string(std::stoul(length), 'x') + "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny";
  HttpReader reader;
  std::vector<HttpAnswer> answers;
  while (!bytes.empty()) {
    const auto taken = reader.feed(std::string_view(bytes).substr(0, 1U << 16U));
    ASSERT_TRUE(taken);
    bytes.erase(0, *taken);
    if (reader.is_complete()) answers.push_back(reader.take());
  }
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_TRUE(answers[0].is_too_long);
  EXPECT_EQ(answers[0].body, "");
  EXPECT_FALSE(answers[1].is_too_long);
  EXPECT_EQ(answers[1].body, "y");
}

TEST(HttpReader, NothingGrowsWithoutAnEnd) {
  // Feeds so much of it at most, and says whether it was refused before.
  const auto is_refused = [](const std::string& begin, const std::string& more) {
    HttpReader reader;
    if (!reader.feed(begin)) return true;
    for (std::size_t fed = 0; fed < (300U << 20U); fed += more.size()) {
      if (!reader.feed(more)) return true;
    }
    return false;
  };
  const std::string much(4096, 'x');
  const std::string more(1U << 20U, 'x');
  EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\r\nA: ", much));
  EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\r\n", "A: b\r\n"));
  EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", more));
  EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "100000\r\n" + more + "\r\n"));
  EXPECT_TRUE(is_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", much));
  EXPECT_TRUE(is_refused("", "HTTP/1.1 100 Continue\r\n\r\n"));
}

}  // namespace
}  // namespace rlock::net
