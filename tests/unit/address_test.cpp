#include "redis/address.hpp"

#include <gtest/gtest.h>

namespace rlock::redis {
namespace {

TEST(Address, ReadsTcpUrls) {
  const auto plain = Address::parse("redis://cache");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->transport, Transport::tcp);
  EXPECT_EQ(plain->host, "cache");
  EXPECT_EQ(plain->port, 6379);
  EXPECT_EQ(plain->database, 0);
  EXPECT_FALSE(plain->password);

  const auto full = Address::parse("redis://ann:p%40ss%3A@[::1]:7000/3");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->user, "ann");
  EXPECT_EQ(full->password, "p@ss:");
  EXPECT_EQ(full->host, "::1");
  EXPECT_EQ(full->port, 7000);
  EXPECT_EQ(full->database, 3);

  const auto bare = Address::parse("redis://:a@b:c@host");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->user, "");
  EXPECT_EQ(bare->password, "a@b:c");
  EXPECT_EQ(bare->host, "host");
}

TEST(Address, TakesALonePartForThePassword) {
  for (const char* url : {"redis://canary@h", "unix://canary@/s", "redis://:canary@h"}) {
    const auto lone = Address::parse(url);
    ASSERT_TRUE(lone) << url;
    EXPECT_EQ(lone->user, "");
    EXPECT_EQ(lone->password, "canary");
    EXPECT_EQ(lone->display().find("canary"), std::string::npos) << lone->display();
  }
  const auto user = Address::parse("redis://ann:@h");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->user, "ann");
  EXPECT_FALSE(user->password);
  EXPECT_EQ(user->display(), "redis://ann:@h:6379");
}

TEST(Address, ReadsUnixUrlsAndLocal) {
  const auto socket = Address::parse("unix:///run/redis%20x.sock?db=2");
  ASSERT_TRUE(socket);
  EXPECT_EQ(socket->transport, Transport::unix_socket);
  EXPECT_EQ(socket->path, "/run/redis x.sock");
  EXPECT_EQ(socket->database, 2);
  const auto user = Address::parse("unix://ann:secret@/run/r.sock");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->user, "ann");
  EXPECT_EQ(user->password, "secret");
  EXPECT_EQ(user->path, "/run/r.sock");
  ASSERT_TRUE(Address::parse("local"));
  EXPECT_TRUE(Address::parse("local")->is_local);
}

TEST(Address, RefusesWhatIsNone) {
  const auto long_path = "unix:///" + std::string(120, 'x');
  for (const std::string& url : {std::string(""),
                                 std::string("localhost"),
                                 std::string("http://x"),
                                 std::string("redis://"),
                                 std::string("redis://:7000"),
                                 std::string("redis://h:0"),
                                 std::string("redis://h:65536"),
                                 std::string("redis://h:x"),
                                 std::string("redis://h/x"),
                                 std::string("redis://h/-1"),
                                 std::string("redis://h?db=1"),
                                 std::string("redis://[::1"),
                                 std::string("redis://[::1]x"),
                                 std::string("redis://a%zz@h"),
                                 std::string("redis://:p%2@h"),
                                 std::string("unix://rel"),
                                 std::string("unix:///s?db=x"),
                                 std::string("unix:///s?x=1"),
                                 std::string("unix:///a%00b"),
                                 long_path,
                                 std::string("redis://h\n"),
                                 std::string("locally")}) {
    const auto address = Address::parse(url);
    ASSERT_FALSE(address) << url;
    EXPECT_EQ(address.error().code, base::ErrorCode::usage);
  }
}

TEST(Address, NeverShowsThePassword) {
  for (const char* url :
       {"redis://:canary@h:1/2", "redis://ann:canary@[::1]:1", "unix://ann:canary@/s?db=1",
        "unix:///a%25b%3fc%20d@e?db=1", "redis://a%40b%3a%2fc%25:canary@h", "unix://a%40%2f:canary@/s"}) {
    const auto address = Address::parse(url);
    ASSERT_TRUE(address) << url;
    EXPECT_EQ(address->display().find("canary"), std::string::npos) << address->display();
    const auto again = Address::parse(address->display());
    ASSERT_TRUE(again) << address->display();
    EXPECT_EQ(again->host, address->host);
    EXPECT_EQ(again->user, address->user);
    EXPECT_EQ(again->path, address->path);
    EXPECT_EQ(again->database, address->database);
  }
  for (const char* url : {"redis://:canary@h:x", "redis://:canary%zz@h", "redisss://:canary@h", "canary"}) {
    const auto address = Address::parse(url);
    ASSERT_FALSE(address) << url;
    EXPECT_EQ(address.error().message.find("canary"), std::string::npos) << address.error().message;
  }
}

TEST(Address, HasTlsWhereTheUrlSaysSo) {
  const auto plain = Address::parse("redis://h");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->tls);
  const auto secret = Address::parse("rediss://ann:p@h:7000/3?cert=/a%20b&key=/k&cacert=/ca");
  ASSERT_TRUE(secret && secret->tls);
  EXPECT_EQ(*secret->tls, (TlsSettings{"/ca", "/a b", "/k"}));
  EXPECT_EQ(secret->port, 7000);
  EXPECT_EQ(secret->database, 3);
  EXPECT_EQ(secret->display(), "rediss://ann:@h:7000/3?cacert=/ca&cert=/a b&key=/k");
  EXPECT_EQ(Address::parse(secret->display())->tls, secret->tls);
  for (const auto* wrong : {"redis://h?cacert=/ca", "rediss://h?cert=/c", "rediss://h?key=/k",
                            "rediss://h?cacert=", "rediss://h?ca=/c", "rediss://h?cacert"}) {
    EXPECT_FALSE(Address::parse(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace rlock::redis
