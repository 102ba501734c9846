#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/client/reply.hpp"
#include "stores/redis/locate/address.hpp"

namespace rlock::redis {

/// Who serves which slots, as one node of a Cluster sees it.
struct ClusterMap {
  struct Range {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::vector<net::Endpoint> nodes;  ///< the master first
  };
  std::vector<Range> ranges;

  /// Reads the reply to CLUSTER SLOTS of the node `asked`. nullopt: it has not the shape of one.
  static std::optional<ClusterMap> read(const Reply& reply, const net::Endpoint& asked);

  std::optional<net::Endpoint> master_of(std::uint16_t slot) const;
  /// Each node once, as far as max_nodes; `masters` alone, or their replicas too.
  enum class Which { masters, all };
  std::vector<net::Endpoint> nodes(Which which) const;
  /// A Cluster has no more; the names of others are left out.
  static constexpr std::size_t max_nodes = 1'000;
  /// Whether a node serves the slot, though it may not have said where it is.
  bool is_served(std::uint16_t slot) const;

 private:
  const Range* range_of(std::uint16_t slot) const;
};

/// HOST:PORT as a redirection says it: the host is that of `said_by` where it is empty. nullopt: not a place.
std::optional<net::Endpoint> place_of(std::string_view text, const net::Endpoint& said_by);

}  // namespace rlock::redis
