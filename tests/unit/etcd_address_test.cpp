#include <gtest/gtest.h>

#include "stores/common/members.hpp"
#include "stores/etcd/address.hpp"

namespace rlock::etcd {
namespace {

Address read(const std::string& url) {
  const auto address = Address::parse(url);
  EXPECT_TRUE(address) << url << " " << (address ? "" : address.error().message);
  return address.value_or(Address());
}

TEST(EtcdAddress, ReadsMembersPrefixAndUser) {
  const auto address = read("etcd://me:se%40cret@e1,e2:1,[::1]/a/b%20c/");
  ASSERT_EQ(address.endpoints.size(), 3U);
  EXPECT_EQ(net::text_of(address.endpoints), "e1:2379,e2:1,[::1]:2379");
  EXPECT_EQ(address.user, "me");
  EXPECT_EQ(address.password, "se@cret");
  EXPECT_EQ(address.prefix, "/a/b c");
  EXPECT_FALSE(address.tls);
  EXPECT_EQ(read("etcd://e1").prefix, "/rlock");
  EXPECT_EQ(read("etcd://e1/").prefix, "/rlock");
}

TEST(EtcdAddress, ALoneWordIsTheUser) {
  const auto address = read("etcd://me@e1");
  EXPECT_EQ(address.user, "me");
  EXPECT_FALSE(address.password);
}

TEST(EtcdAddress, ReadsTls) {
  const auto address = read("etcds://e1?cacert=/c%26a&cert=c&key=k");
  ASSERT_TRUE(address.tls);
  EXPECT_EQ(address.tls->cacert, "/c&a");
  EXPECT_EQ(address.tls->key, "k");
}

TEST(EtcdAddress, ReadsAUnixSocket) {
  const auto address = read("etcd+unix://me@/run/etcd/localhost:2379?prefix=/p");
  EXPECT_EQ(address.socket, "/run/etcd/localhost:2379");
  EXPECT_EQ(address.user, "me");
  EXPECT_EQ(address.prefix, "/p");
  EXPECT_TRUE(address.endpoints.empty());
}

TEST(EtcdAddress, ShowsItselfWithoutThePasswordAndIsReadAgain) {
  for (const std::string url : {"etcd://e1:2379,e2:1/a%23b", "etcds://me:@e1:2379?cacert=/c%26a",
                                "etcd+unix:///run/e?prefix=/p%26q", "etcd://e1:2379"}) {
    EXPECT_EQ(read(url).display(), url);
  }
  EXPECT_EQ(read("etcd://me:secret@e1").display(), "etcd://me:@e1:2379");
}

TEST(EtcdAddress, SaysWhatIsWrongAndRepeatsNoPassword) {
  for (const std::string url :
       {"etcd://", "etcd://h,", "etcd://h,,i", "etcd://h,h:2379", "etcd://h:0", "etcd://:secret@h", "etcd://h?cacert=x",
        "etcds://h?cert=x", "etcds://h?db=1", "etcd+unix://run/x", "etcd+unix:///x?cert=1", "etcd://h/a%0ab",
        "etcd://h/%zz", "etcd+tls://h", "etcd://me:sec%zzret@h", "etcd://me:sec/ret@h", "etcd+unix:///x?prefix=p"}) {
    const auto address = Address::parse(url);
    ASSERT_FALSE(address) << url;
    EXPECT_EQ(address.error().code, base::ErrorCode::usage);
    EXPECT_FALSE(address.error().message.contains("sec")) << address.error().message;
  }
}

TEST(EtcdAddress, ALoneHostMayBeASecret) {
  EXPECT_EQ(stores::Members(read("etcd://hunter2"), words).name(), "etcd at ***");
  EXPECT_EQ(stores::Members(read("etcd://h.example"), words).name(), "etcd at h.example:2379");
}

}  // namespace
}  // namespace rlock::etcd
