#include "stores/redis/locate/cluster_map.hpp"

#include <gtest/gtest.h>

namespace rlock::redis {
namespace {

const net::Endpoint asked{"node.example", 7000};

Reply integer(std::int64_t value) { return {Reply::Kind::integer, value, {}, {}}; }
Reply text(std::string value) { return {Reply::Kind::text, 0, std::move(value), {}}; }
Reply array(std::vector<Reply> items) { return {Reply::Kind::array, 0, {}, std::move(items)}; }
Reply node(Reply host, std::int64_t port) { return array({std::move(host), integer(port), text("id")}); }

TEST(ClusterMap, NamesTheMasterOfASlot) {
  const auto map =
      ClusterMap::read(array({array({integer(0), integer(5), node(text("10.0.0.1"), 1), node(text("::1"), 2)}),
                              array({integer(7), integer(7), node(text("::1"), 3)})}),
                       asked);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->master_of(5), (net::Endpoint{"10.0.0.1", 1}));
  EXPECT_EQ(map->master_of(6), std::nullopt);
  EXPECT_EQ(map->master_of(7), (net::Endpoint{"::1", 3}));
  EXPECT_EQ(map->ranges[0].nodes.size(), 2U);
}

TEST(ClusterMap, TakesTheHostThatWasAskedWhereNoneIsSaid) {
  const auto map = ClusterMap::read(
      array({array({integer(0), integer(1), node({}, 1)}), array({integer(2), integer(3), node(text(""), 2)})}), asked);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->master_of(0), (net::Endpoint{asked.host, 1}));
  EXPECT_EQ(map->master_of(2), (net::Endpoint{asked.host, 2}));
}

TEST(ClusterMap, TakesNoReplicaForAMasterThatIsNotKnown) {
  const auto map =
      ClusterMap::read(array({array({integer(0), integer(1), node(text("?"), 1), node(text("10.0.0.2"), 2)})}), asked);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->master_of(0), std::nullopt);
  EXPECT_TRUE(map->is_served(0));
  EXPECT_FALSE(map->is_served(2));
}

TEST(ClusterMap, IsNotReadFromAnythingElse) {
  for (const auto& reply : {text("OK"), array({integer(1)}), array({array({integer(0), integer(1)})}),
                            array({array({integer(0), text("1"), node(text("h"), 1)})}),
                            array({array({integer(0), integer(1), array({text("h"), text("1")})})})}) {
    EXPECT_FALSE(ClusterMap::read(reply, asked));
  }
}

TEST(ClusterMap, NamesEachNodeOnceAndNoMoreThanAClusterHas) {
  using Which = ClusterMap::Which;
  std::vector<Reply> rows;
  for (int i = 0; i < 30'000; ++i) {
    rows.push_back(
        array({integer(i), integer(i), node(text("h" + std::to_string(i / 15)), 1), node(text("replica"), 1)}));
  }
  const auto map = ClusterMap::read(array(rows), asked);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->nodes(Which::all).size(), ClusterMap::max_nodes);
  rows.resize(30);
  const auto two = ClusterMap::read(array(rows), asked);
  EXPECT_EQ(two->nodes(Which::masters), (std::vector<net::Endpoint>{{"h0", 1}, {"h1", 1}}));
  EXPECT_EQ(two->nodes(Which::all), (std::vector<net::Endpoint>{{"h0", 1}, {"replica", 1}, {"h1", 1}}));
}

TEST(ClusterMap, ReadsThePlaceOfARedirection) {
  EXPECT_EQ(place_of("10.0.0.1:6379", asked), (net::Endpoint{"10.0.0.1", 6379}));
  EXPECT_EQ(place_of("fe80::1:6379", asked), (net::Endpoint{"fe80::1", 6379}));
  EXPECT_EQ(place_of(":7001", asked), (net::Endpoint{asked.host, 7001}));
  for (const char* text : {"", "10.0.0.1", "?:1", "h:0", "h:65536", "h:x"}) EXPECT_FALSE(place_of(text, asked)) << text;
}

}  // namespace
}  // namespace rlock::redis
