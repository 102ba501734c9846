#include "stores/redis/locate/address.hpp"

#include <gtest/gtest.h>

#include "net/socket.hpp"
#include "net/url.hpp"

namespace rlock::redis {
namespace {

TEST(Address, ReadsTcpUrls) {
  const auto plain = Address::parse("redis://cache");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->transport, Transport::tcp);
  EXPECT_EQ(plain->endpoints.front().host, "cache");
  EXPECT_EQ(plain->endpoints.front().port, 6379);
  EXPECT_EQ(plain->database, 0);
  EXPECT_FALSE(plain->password);

  const auto full = Address::parse("redis://ann:p%40ss%3A@[::1]:7000/3");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->user, "ann");
  EXPECT_EQ(full->password, "p@ss:");
  EXPECT_EQ(full->endpoints.front().host, "::1");
  EXPECT_EQ(full->endpoints.front().port, 7000);
  EXPECT_EQ(full->database, 3);

  const auto bare = Address::parse("redis://:a@b:c@host");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->user, "");
  EXPECT_EQ(bare->password, "a@b:c");
  EXPECT_EQ(bare->endpoints.front().host, "host");
}

TEST(SocketAddress, KnowsWhatIsOnThisMachine) {
  const auto is_here = [](const char* text) {
    return net::is_of_this_machine(net::numeric_address(text, 6379)->storage);
  };
  EXPECT_TRUE(net::is_of_this_machine(net::unix_address("/run/redis.sock").storage));
  for (const char* here : {"127.0.0.1", "127.9.8.7", "::1"}) EXPECT_TRUE(is_here(here)) << here;
  for (const char* elsewhere : {"128.0.0.1", "10.0.0.127", "::2", "fe80::1", "::"}) {
    EXPECT_FALSE(is_here(elsewhere)) << elsewhere;
  }
  EXPECT_FALSE(net::is_of_this_machine({}));
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

TEST(Address, ALoneWordIsTheUserOnceThePasswordIsKnownFromElsewhere) {
  auto lone = Address::parse("redis://canary@h");
  ASSERT_TRUE(lone);
  lone->take_lone_word_for_user();
  EXPECT_EQ(lone->user, "canary");
  EXPECT_FALSE(lone->password);
  EXPECT_EQ(lone->name(), "redis://h:6379");
  EXPECT_EQ(lone->display(), "redis://canary:@h:6379");
  auto both = Address::parse("redis://ann:canary@h");
  ASSERT_TRUE(both);
  both->take_lone_word_for_user();
  EXPECT_EQ(both->password, "canary");
  EXPECT_EQ(both->lone_word_note(), "");
}

TEST(Address, AHostThatIsOneWordIsNotShownUntilItIsKnownToBeOne) {
  for (const auto* url :
       {"redis://canary", "rediss://canary/2", "redis+sentinel://canary/m", "redis+cluster://canary"}) {
    auto address = Address::parse(url);
    ASSERT_TRUE(address) << url;
    EXPECT_EQ(address->name().find("canary"), std::string::npos) << url;
    EXPECT_EQ(address->shown_host().find("canary"), std::string::npos) << url;
    EXPECT_NE(address->display().find("canary"), std::string::npos) << url;
    address->host_may_be_secret = false;
    EXPECT_NE(address->name().find("canary"), std::string::npos) << url;
  }
  for (const auto* url :
       {"redis://h.example", "redis://h:6379", "redis://ann:@h", "redis://localhost", "redis://[::1]"}) {
    EXPECT_FALSE(Address::parse(url)->host_may_be_secret) << url;
  }
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
    EXPECT_EQ(again->endpoints, address->endpoints);
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
  EXPECT_EQ(*secret->tls, (net::TlsSettings{"/ca", "/a b", "/k"}));
  EXPECT_EQ(secret->endpoints.front().port, 7000);
  EXPECT_EQ(secret->database, 3);
  EXPECT_EQ(secret->display(), "rediss://ann:@h:7000/3?cacert=/ca&cert=/a b&key=/k");
  EXPECT_EQ(Address::parse(secret->display())->tls, secret->tls);
  for (const auto* wrong : {"redis://h?cacert=/ca", "rediss://h?cert=/c", "rediss://h?key=/k",
                            "rediss://h?cacert=", "rediss://h?ca=/c", "rediss://h?cacert"}) {
    EXPECT_FALSE(Address::parse(wrong)) << wrong;
  }
}

TEST(Address, ReadsSentinelsAndClusters) {
  const auto sentinels =
      Address::parse("redis+sentinel://ann:p@h1,h2:7000,[::1]/my%2Fmaster/3?sentinel_user=s&sentinel_password_file=/f");
  ASSERT_TRUE(sentinels) << sentinels.error().message;
  EXPECT_EQ(sentinels->kind, Kind::sentinel);
  EXPECT_EQ(sentinels->endpoints, (std::vector<net::Endpoint>{{"h1", 26379}, {"h2", 7000}, {"::1", 26379}}));
  EXPECT_EQ(sentinels->master, "my/master");
  EXPECT_EQ(sentinels->database, 3);
  EXPECT_EQ(sentinels->password, "p");
  EXPECT_EQ(sentinels->sentinel_user, "s");
  EXPECT_EQ(sentinels->sentinel_password_file, "/f");
  EXPECT_EQ(
      sentinels->display(),
      "redis+sentinel://ann:@h1:26379,h2:7000,[::1]:26379/my%2fmaster/3?sentinel_user=s&sentinel_password_file=/f");
  EXPECT_EQ(sentinels->name(), "redis+sentinel://ann:@h1:26379,h2:7000,[::1]:26379/my%2fmaster/3");

  const auto cluster = Address::parse("rediss+cluster://h1:7000,h2?cacert=/ca");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->kind, Kind::cluster);
  EXPECT_EQ(cluster->endpoints, (std::vector<net::Endpoint>{{"h1", 7000}, {"h2", 6379}}));
  ASSERT_TRUE(cluster->tls);
  EXPECT_EQ(cluster->tls->cacert, "/ca");
  EXPECT_EQ(Address::parse(cluster->display())->endpoints, cluster->endpoints);
}

TEST(Address, RefusesWrongSentinelsAndClusters) {
  for (const auto* url :
       {"redis+sentinel://h", "redis+sentinel://h/", "redis+sentinel://h//1", "redis+sentinel:///m",
        "redis+sentinel://h,/m", "redis+sentinel://h,H:26379/m", "redis+sentinel://h/m/x", "redis+sentinel://h/m/1/2",
        "redis+sentinel://h:0/m", "redis+sentinel://h/m?cacert=/a", "redis+sentinel://h/m?sentinel_user=u",
        "redis+cluster://h/1", "redis+cluster://", "redis+cluster://h,h", "redis+cluster://h:99999",
        "redis+cluster://h?db=1", "redis+sentinel+cluster://h/m", "redis://h,i", "redis://h,"}) {
    const auto address = Address::parse(url);
    ASSERT_FALSE(address) << url;
    EXPECT_EQ(address.error().code, base::ErrorCode::usage) << url;
  }
}

TEST(Address, AListHasACommaBeforeEachScheme) {
  using List = std::vector<std::string_view>;
  EXPECT_EQ(net::split_list("redis://a"), List{"redis://a"});
  EXPECT_EQ(net::split_list("redis://u:p,q@a,rediss://b,unix:///c,d"),
            (List{"redis://u:p,q@a", "rediss://b", "unix:///c,d"}));
  EXPECT_EQ(net::split_list("redis+sentinel://a,b/m,redis+cluster://c,d"),
            (List{"redis+sentinel://a,b/m", "redis+cluster://c,d"}));
  EXPECT_EQ(net::split_list("redis://a,local"), (List{"redis://a", "local"}));
  EXPECT_EQ(net::split_list("redis://a,"), List{"redis://a,"});
  EXPECT_EQ(net::split_list(""), List{""});
}

std::vector<Address> all_of(const std::vector<std::string>& urls) {
  std::vector<Address> result;
  for (const auto& url : urls) result.push_back(Address::parse(url).value());
  return result;
}

TEST(Address, OneServerOrAMajorityOfSeveral) {
  EXPECT_TRUE(check_together(all_of({"redis+cluster://a,b"})));
  EXPECT_TRUE(check_together(all_of({"redis://a", "redis://a:7000", "unix:///a"})));
  for (const auto& urls : std::vector<std::vector<std::string>>{
           {"redis://a", "redis://b"},
           {"redis://a", "redis://b", "redis://A:6379"},
           {"redis://a", "rediss://a", "redis://c"},
           {"unix:///a", "redis://b", "unix:///a?db=1"},
           {"redis://a", "redis://b", "redis+cluster://c"},
           {"redis://a", "redis://b", "local"},
           {"redis://1", "redis://2", "redis://3", "redis://4", "redis://5", "redis://6", "redis://7", "redis://8"}}) {
    const auto together = check_together(all_of(urls));
    ASSERT_FALSE(together) << urls.back();
    EXPECT_EQ(together.error().code, base::ErrorCode::usage);
  }
}

}  // namespace
}  // namespace rlock::redis
