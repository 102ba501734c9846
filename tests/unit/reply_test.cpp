#include "stores/redis/client/reply.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "stores/redis/client/reply_reader.hpp"

namespace rlock::redis {
namespace {

class Reader {
 public:
  Reader() : reader_(redisReaderCreateWithFunctions(reply_functions())) {}
  ~Reader() { redisReaderFree(reader_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool feed(const std::string& bytes) { return redisReaderFeed(reader_, bytes.data(), bytes.size()) == REDIS_OK; }
  /// nullptr where the reply is not whole; fails where it is none.
  std::unique_ptr<Reply> next(bool& good) {
    void* object = nullptr;
    good = redisReaderGetReply(reader_, &object) == REDIS_OK;
    return std::unique_ptr<Reply>(good ? static_cast<Reply*>(object) : nullptr);
  }

 private:
  redisReader* reader_;
};

std::unique_ptr<Reply> read(const std::string& bytes) {
  Reader reader;
  bool good = false;
  EXPECT_TRUE(reader.feed(bytes));
  auto reply = reader.next(good);
  EXPECT_TRUE(good) << bytes;
  return reply;
}

TEST(Reply, HasNoMoreItemsThanThereIsMemoryFor) {
  for (const std::string item : {":1\r\n", "*1\r\n:1\r\n", "*1\r\n*0\r\n"}) {
    std::string bytes = "*1000000\r\n";
    while (bytes.size() < 2'000'000) bytes += item;
    Reader reader;
    bool good = true;
    EXPECT_TRUE(reader.feed(bytes));
    reader.next(good);
    EXPECT_FALSE(good) << item;
  }
}

TEST(Reply, IsReadFromBothProtocols) {
  const auto array = read("*4\r\n:7\r\n$2\r\nab\r\n*1\r\n+x\r\n$-1\r\n");
  ASSERT_TRUE(array);
  ASSERT_EQ(array->items.size(), 4U);
  EXPECT_EQ(array->items[0].integer, 7);
  EXPECT_EQ(array->items[1].text, "ab");
  EXPECT_EQ(array->items[2].items.at(0).text, "x");
  EXPECT_EQ(array->items[3].kind, Reply::Kind::nil);
  const auto push = read(">2\r\n$7\r\nmessage\r\n_\r\n");
  ASSERT_TRUE(push);
  EXPECT_EQ(push->kind, Reply::Kind::push);
}

TEST(Reply, NestedTooDeepIsRefusedAndFreed) {
  std::string bytes;
  for (int i = 0; i < 1'000'000; ++i) bytes += "*1\r\n";
  Reader reader;
  bool good = true;
  ASSERT_TRUE(reader.feed(bytes));
  EXPECT_EQ(reader.next(good), nullptr);
  EXPECT_FALSE(good);
}

TEST(Reply, SizesThatItAnnouncesCostNothing) {
  Reader reader;
  bool good = false;
  ASSERT_TRUE(reader.feed("*2147483647\r\n:1\r\n"));
  EXPECT_EQ(reader.next(good), nullptr);
  EXPECT_TRUE(good);
}

TEST(Reply, ErrorsTellTheirCode) {
  EXPECT_EQ(read("-OOM command not allowed\r\n")->error_code(), "OOM");
  EXPECT_EQ(read("-ERR Error running script (call to f_1): @user_script:3: -OOM command not allowed\r\n")->error_code(),
            "OOM");
  const auto code = [](const char* line) { return error_of(*read(line), "server").code; };
  EXPECT_EQ(code("-NOAUTH x\r\n"), base::ErrorCode::refused);
  EXPECT_EQ(code("-WRONGPASS x\r\n"), base::ErrorCode::refused);
  EXPECT_EQ(code("-LOADING x\r\n"), base::ErrorCode::unready);
  EXPECT_EQ(code("-READONLY x\r\n"), base::ErrorCode::unready);
  EXPECT_EQ(code("-MOVED 1 h:1\r\n"), base::ErrorCode::configuration);
  EXPECT_EQ(code("-ERR DB index is out of range\r\n"), base::ErrorCode::configuration);
  EXPECT_EQ(code("-ERR unknown command 'EVALSHA'\r\n"), base::ErrorCode::configuration);
  EXPECT_EQ(code("-ERR unknown command `AUTH`, with args beginning with: `x`\r\n"), base::ErrorCode::refused);
  EXPECT_EQ(code("-ERR unknown command\r\n"), base::ErrorCode::configuration);
  EXPECT_EQ(code("-ERR Script attempted to access a non local key in a cluster node script: 1, on @user_script:9.\r\n"),
            base::ErrorCode::unready);
  EXPECT_EQ(
      code("-ERR Error running script (call to f_1): @user_script:9: @user_script: 9: Lua script attempted to access a "
           "non local key in a cluster node\r\n"),
      base::ErrorCode::unready);
  EXPECT_EQ(code("-ERR Script attempted to execute a write command while the cluster is down and readonly\r\n"),
            base::ErrorCode::unready);
  EXPECT_EQ(code("-ERR something\r\n"), base::ErrorCode::internal);
}

}  // namespace
}  // namespace rlock::redis
