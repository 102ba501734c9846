#include "stores/redis/locate/cluster_map.hpp"

#include <algorithm>
#include <set>
#include <span>

#include "base/text/number.hpp"

namespace rlock::redis {
namespace {

// An empty host, or nil, means the host at which the node was reached: it does not know its own address. "?" means that
// it was told to announce a host name and has none.
std::optional<net::Endpoint> endpoint_of(std::string_view host, std::int64_t port, const net::Endpoint& said_by) {
  if (host == "?" || port < 1 || port > 65535) return std::nullopt;
  return net::Endpoint{host.empty() ? said_by.host : std::string(host), static_cast<std::uint16_t>(port)};
}

}  // namespace

std::optional<ClusterMap> ClusterMap::read(const Reply& reply, const net::Endpoint& asked) {
  if (reply.kind != Reply::Kind::array) return std::nullopt;
  ClusterMap map;
  for (const auto& row : reply.items) {
    const auto& items = row.items;
    if (items.size() < 3 || items[0].kind != Reply::Kind::integer || items[1].kind != Reply::Kind::integer) {
      return std::nullopt;
    }
    Range range{items[0].integer, items[1].integer, {}};
    for (std::size_t i = 2; i < items.size(); ++i) {
      const auto& node = items[i].items;
      if (node.size() < 2 || node[1].kind != Reply::Kind::integer) return std::nullopt;
      if (const auto endpoint = endpoint_of(node[0].text, node[1].integer, asked)) {
        range.nodes.push_back(*endpoint);
      } else if (i == 2) {
        break;  // replicas of an unknown master must not be taken for it
      }
    }
    map.ranges.push_back(std::move(range));
  }
  return map;
}

const ClusterMap::Range* ClusterMap::range_of(std::uint16_t slot) const {
  const auto range = std::ranges::find_if(ranges, [&](const Range& r) { return r.first <= slot && slot <= r.last; });
  return range == ranges.end() ? nullptr : &*range;
}

std::optional<net::Endpoint> ClusterMap::master_of(std::uint16_t slot) const {
  const auto* range = range_of(slot);
  if (range == nullptr || range->nodes.empty()) return std::nullopt;
  return range->nodes.front();
}

std::vector<net::Endpoint> ClusterMap::nodes(Which which) const {
  std::vector<net::Endpoint> found;
  std::set<std::string> names;
  for (const auto& range : ranges) {
    const auto count = which == Which::all ? range.nodes.size() : std::min<std::size_t>(range.nodes.size(), 1);
    for (const auto& node : std::span(range.nodes).first(count)) {
      if (found.size() == max_nodes) return found;
      if (names.insert(node.name()).second) found.push_back(node);
    }
  }
  return found;
}

bool ClusterMap::is_served(std::uint16_t slot) const { return range_of(slot) != nullptr; }

std::optional<net::Endpoint> place_of(std::string_view text, const net::Endpoint& said_by) {
  const auto colon = text.rfind(':');  // the host may be an IPv6 address
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = base::parse_number<std::uint16_t>(text.substr(colon + 1));
  if (!port) return std::nullopt;
  return endpoint_of(text.substr(0, colon), *port, said_by);
}

}  // namespace rlock::redis
