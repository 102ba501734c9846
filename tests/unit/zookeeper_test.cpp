#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "jute_bytes.hpp"
#include "stores/zookeeper/address.hpp"
#include "stores/zookeeper/jute.hpp"
#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/session.hpp"

namespace rlock::zookeeper {
namespace {

using namespace std::string_literals;

TEST(Jute, RequestsAreAsZooKeeperReadsThem) {
  EXPECT_EQ(frame_of(7, get_data("/a")), number(15) + number(7) + number(4) + text("/a") + "\0"s);
  EXPECT_EQ(frame_of(1, create("/a", "d", Owner::world, Lifetime::ephemeral_sequential)).substr(8),
            number(15) + text("/a") + text("d") + number(1) + number(31) + text("world") + text("anyone") + number(3));
  EXPECT_EQ(create("/a", "", Owner::creator, Lifetime::container).body,
            text("/a") + text("") + number(1) + number(31) + text("auth") + text("") + number(4));
  EXPECT_EQ(create("/a", "", Owner::world, Lifetime::container).op, Request::Op::create_container);
  EXPECT_EQ(digest_auth("ann", "se:cret").body, number(0) + text("digest") + text("ann:se:cret"));
  const std::vector both{remove("/a", 3), set_data("/b", "x")};
  EXPECT_EQ(multi(both).body, number(2) + "\0"s + number(-1) + text("/a") + number(3) + number(5) + "\0"s + number(-1) +
                                  text("/b") + text("x") + number(-1) + number(-1) + "\1"s + number(-1));
}

TEST(Jute, AnswersThatAreCutAreNone) {
  const auto stat = std::string(68, '\1');
  const auto node = text("data") + stat;
  ASSERT_TRUE(read_node(node));
  EXPECT_EQ(read_node(node)->data, "data");
  EXPECT_EQ(read_node(node)->stat.version, 0x01010101);
  const auto children = number(2) + text("a") + text("b") + stat;
  EXPECT_EQ(read_children(children), (std::vector{"a"s, "b"s}));
  for (std::size_t size = 0; size < node.size(); ++size) EXPECT_FALSE(read_node(node.substr(0, size)));
  for (std::size_t size = 0; size < 14; ++size) EXPECT_FALSE(read_children(children.substr(0, size)));
  EXPECT_FALSE(read_children(number(std::numeric_limits<std::int32_t>::max()) + text("a")));
  EXPECT_EQ(read_node(number(-1) + stat)->data, "");
}

TEST(Jute, FramesAreTakenWhole) {
  std::string bytes = number(3) + "abc" + number(0) + number(2) + "d";
  bool is_broken = false;
  EXPECT_EQ(take_frame(bytes, is_broken), "abc");
  EXPECT_EQ(take_frame(bytes, is_broken), "");
  EXPECT_EQ(take_frame(bytes, is_broken), std::nullopt);
  EXPECT_FALSE(is_broken);
  bytes += "e";
  EXPECT_EQ(take_frame(bytes, is_broken), "de");
  EXPECT_TRUE(bytes.empty());
  for (const auto length : {-1, std::numeric_limits<std::int32_t>::max(), static_cast<int>(max_frame) + 1}) {
    bytes = number(length) + "x";
    is_broken = false;
    EXPECT_EQ(take_frame(bytes, is_broken), std::nullopt);
    EXPECT_TRUE(is_broken) << length;
  }
}

TEST(Jute, InPlaceOfOneThatIsTooLongIsAMessageThatSaysSo) {
  const auto length = static_cast<std::int32_t>(max_frame) + 1;
  const auto bytes = number(length) + number(7) + std::string(8, '\1') + number(0) + "x";
  std::size_t size = 0;
  for (std::size_t come = 0; come < 16; ++come) EXPECT_FALSE(in_place_of_too_long(bytes.substr(0, come), size)) << come;
  const auto frame = in_place_of_too_long(bytes, size);
  ASSERT_TRUE(frame);
  EXPECT_EQ(size, max_frame + 5);
  const auto message = read_message(*frame);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->number, 7);
  EXPECT_EQ(message->seen, 0x0101010101010101);
  EXPECT_EQ(message->answer.code, Code::too_long);
  EXPECT_EQ(message->answer.body, "");
}

TEST(Jute, AMultiTellsWhichOneFailed) {
  const auto error = [](std::int32_t code) { return number(-1) + "\0"s + number(code) + number(code); };
  const auto end = number(-1) + "\1"s + number(-1);
  const auto outcome = read_multi({Code::ok, error(0) + error(-101) + error(-2) + end});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->code, Code::no_node);
  EXPECT_EQ(outcome->failed, 1U);
  EXPECT_EQ(read_multi({Code::ok, number(2) + "\0"s + number(0) + end})->code, Code::ok);
  EXPECT_EQ(read_multi({Code::no_auth, ""})->code, Code::no_auth);
  EXPECT_FALSE(read_multi({Code::ok, "\0\0"s}));
}

TEST(EntryName, IsReadBack) {
  for (const std::string token : {"t", "a-b", "a/b", "x-3-", ".", "\xc3\xa9 %"}) {
    for (const std::uint32_t order : {0U, 7U, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
      for (const auto moves : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{255}}) {
        const EntryName entry{.order = order, .token = token, .mode = {lock::Mode::Kind::slots, 12}, .moves = moves};
        const auto name = entry.encode();
        EXPECT_EQ(name.find('/'), name.npos);
        const auto read = EntryName::decode(name);
        ASSERT_TRUE(read) << name;
        EXPECT_EQ(read->order, order);
        EXPECT_EQ(read->token, token);
        EXPECT_EQ(read->mode, entry.mode);
        EXPECT_EQ(read->moves, moves);
        EXPECT_FALSE(read->has_ended);
        EXPECT_EQ(EntryName::of(read->entry(5)).encode(), name);
        EXPECT_EQ(data_version(read->entry(5)), 5);
      }
    }
  }
  EXPECT_TRUE(EntryName::decode("t-x-0000000003h")->has_ended);
  for (const std::string name :
       {"", "h", "t", "t-x", "t-x-", "-0000000001", "x-0000000001", "t-q-0000000001", "t-x-0000000001r",
        "t-x-0000000001r256", "t-x-0000000001r1h", "t-x-9999999999", "t-x-5", "t-05-0000000005", "%74-x-0000000005"}) {
    EXPECT_FALSE(EntryName::decode(name)) << name;
  }
}

// ZooKeeper counts the entries of a queue on, behind the largest with the least.
TEST(EntryName, OrdersBeyondTheLargestNumber) {
  EXPECT_LT(EntryName::decode("t-x-2147483647")->order, EntryName::decode("t-x--2147483648")->order);
  EXPECT_LT(EntryName::decode("t-x--2147483648")->order, EntryName::decode("t-x--2147483647")->order);
}

TEST(SessionId, IsReadBack) {
  const SessionId id{-5, "\0\xffpass"s, base::Duration(4000), 77};
  const auto read = SessionId::decode(id.encode());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, id.id);
  EXPECT_EQ(read->password, id.password);
  EXPECT_EQ(read->timeout, id.timeout);
  EXPECT_EQ(read->fence, id.fence);
  EXPECT_EQ(id.encode().find(' '), std::string::npos);
  for (const std::string text : {"", "-", "0-00-1-1", "1-0-1-1", "1-00-1", "1-00-80000000-0", "g-00-1-1"}) {
    EXPECT_FALSE(SessionId::decode(text)) << text;
  }
}

TEST(ZookeeperAddress, IsReadBackWithoutItsPassword) {
  const auto address = Address::parse("zookeeper://ann:p%40ss@z1,z2:2182,[::1]/locks/ci");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->user, "ann");
  EXPECT_EQ(address->password, "p@ss");
  EXPECT_EQ(address->root, "/locks/ci");
  EXPECT_EQ(address->endpoints.size(), 3U);
  EXPECT_EQ(address->endpoints[0].port, 2181);
  EXPECT_EQ(address->display(), "zookeeper://ann:@z1:2181,z2:2182,[::1]:2181/locks/ci");
  EXPECT_EQ(Address::parse("zookeeper://z1")->root, "/rlock");
  EXPECT_EQ(Address::parse("zookeeper://z1/")->root, "");
  EXPECT_EQ(Address::parse(Address::parse("zookeeper://z1/")->display())->root, "");
  EXPECT_EQ(Address::parse("zookeepers://z1?cacert=/a")->endpoints[0].port, 2281);
  EXPECT_EQ(Address::parse("zookeeper://ann@z1")->user, "ann");
}

TEST(ZookeeperAddress, SaysWhatIsWrong) {
  for (const std::string url :
       {"zookeeper://", "zookeeper://a,,b", "zookeeper://a,a:2181", "zookeeper://a:0", "zookeeper://a//b",
        "zookeeper://a/../b", "zookeeper://a?cacert=x", "zookeepers://a?x=y", "zookeepers://a?cert=x",
        "zookeeper://:secret@a", "zookeeper://a%3Ab:secret@a", "zookeeper://a/%zz"}) {
    const auto address = Address::parse(url);
    ASSERT_FALSE(address) << url;
    EXPECT_EQ(address.error().code, base::ErrorCode::usage);
    EXPECT_EQ(address.error().message.find("secret"), std::string::npos) << url;
  }
}

}  // namespace
}  // namespace rlock::zookeeper
