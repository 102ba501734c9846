#include "stores/redis/locate/cluster_locator.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/wait/retry.hpp"
#include "net/resolve.hpp"
#include "stores/redis/locate/cluster_map.hpp"
#include "stores/redis/locate/fixed_locator.hpp"

namespace rlock::redis {

using base::BootClock;
using base::ErrorCode;
using base::fail;
using base::Result;
using base::Wait;

namespace {

Command ask_for_slots() { return {"CLUSTER", "SLOTS"}; }
// The wait is divided among the nodes that are left, but into no more shares than this: a share must not get too short.
constexpr std::size_t max_silent = 6;

Address address_of(const Address& cluster, const net::Endpoint& node) {
  auto address = cluster;
  address.kind = Kind::server;
  address.endpoints = {node};
  if (node != cluster.endpoints.front()) address.host_may_be_secret = false;
  return address;
}

Result<ClusterMap> ask(const Address& address, const Greeting& greeting, Wait wait) {
  const auto timeout = std::chrono::ceil<base::Duration>(wait.until() - BootClock::now());
  Session node(std::make_unique<FixedLocator>(address), greeting, timeout, Greet::first);
  const auto request = ask_for_slots();
  const auto replies = RLOCK_TRY(node.flight({&request, 1}, wait));
  const auto& reply = replies.front();
  if (reply.text.starts_with("ERR This instance has cluster support disabled")) {
    return fail(ErrorCode::configuration, node.name() +
                                              ": it is not a node of a Cluster; a server without a Cluster is " +
                                              (address.tls ? "rediss" : "redis") + "://host[:port]");
  }
  if (reply.is_error()) return std::unexpected(error_of(reply, node.name()));
  auto map = ClusterMap::read(reply, address.endpoints.front());
  if (!map) return not_understood(node.name());
  return std::move(*map);
}

// The map of the first node that answers. Those that did not go to the end.
Result<ClusterMap> ask_one_of(std::vector<net::Endpoint>& nodes, const Address& address, const Greeting& greeting,
                              Wait wait) {
  Result<ClusterMap> map = fail(ErrorCode::unreachable, "no node");
  for (std::size_t left = nodes.size(); left > 0 && !wait.is_over(); --left) {
    // One share is for the node that is found.
    const auto shares = static_cast<long>(std::min(left, max_silent) + 1);
    map = ask(address_of(address, nodes.front()), greeting, wait.share(shares));
    if (map || !base::may_pass(map.error())) return map;
    base::log_debug(map.error().message + "; asking another node");
    std::ranges::rotate(nodes, nodes.begin() + 1);
  }
  return map;
}

std::unexpected<base::Error> unknown_hosts(const std::string& name) {
  return fail(ErrorCode::unready, name +
                                      ": a node does not say at which host it can be reached; in its redis.conf: "
                                      "cluster-announce-hostname, or cluster-preferred-endpoint-type ip");
}

}  // namespace

ClusterLocator::ClusterLocator(const Address& address, Greeting greeting, std::uint16_t slot)
    : address_(address),
      greeting_(std::move(greeting)),
      slot_(slot),
      name_(address.name()),
      nodes_(address.endpoints) {}

ClusterLocator::ClusterLocator(const Address& address, Greeting greeting, net::Endpoint node)
    : address_(address), greeting_(std::move(greeting)), name_(address_of(address, node).name()), node_(node) {}

Result<net::Target> ClusterLocator::locate(Reason reason, Wait wait) {
  if (slot_ && reason != Reason::moved) {
    // The node that broke is asked last.
    if (node_) std::ranges::stable_partition(nodes_, [&](const net::Endpoint& node) { return node != *node_; });
    auto master = ask_nodes(wait);
    // Where nobody can say, the one that served last is still the best guess.
    if (!master && !(node_ && base::may_pass(master.error()))) return std::unexpected(std::move(master).error());
    if (master) node_ = std::move(*master);
  }
  auto addresses = RLOCK_TRY(net::resolve(*node_, node_->host, wait));
  // In messages behind the name, where that is not the node itself.
  return net::Target{std::move(addresses), node_->host, address_.tls,
                     name_.ends_with("//" + node_->name()) ? "" : node_->name()};
}

Result<net::Endpoint> ClusterLocator::ask_nodes(Wait wait) {
  const auto map = RLOCK_TRY(ask_one_of(nodes_, address_, greeting_, wait));
  if (std::exchange(address_.host_may_be_secret, false)) name_ = address_.name();
  for (const auto& node : map.nodes(ClusterMap::Which::all)) {
    if (nodes_.size() == ClusterMap::max_nodes) break;
    if (std::ranges::find(nodes_, node) == nodes_.end()) nodes_.push_back(node);
  }
  auto master = map.master_of(*slot_);
  if (!master && map.is_served(*slot_)) return unknown_hosts(name_);
  if (!master) return fail(ErrorCode::unready, name_ + ": its cluster is down: no node serves the key");
  return std::move(*master);
}

bool ClusterLocator::redirected(const std::string& place) {
  auto node = node_ ? place_of(place, *node_) : std::nullopt;
  if (!node) return false;
  node_ = std::move(*node);
  return true;
}

std::unique_ptr<Locator> ClusterLocator::other(const std::string& place) const {
  const auto node = node_ ? place_of(place, *node_) : std::nullopt;
  return node ? std::make_unique<FixedLocator>(address_of(address_, *node)) : nullptr;
}

Result<std::vector<net::Endpoint>> masters_of(const Address& address, const Greeting& greeting, Wait wait) {
  auto nodes = address.endpoints;
  const auto map = RLOCK_TRY(ask_one_of(nodes, address, greeting, wait));
  const auto is_unknown = [](const ClusterMap::Range& range) { return range.nodes.empty(); };
  if (std::ranges::any_of(map.ranges, is_unknown)) return unknown_hosts(address.name());
  auto masters = map.nodes(ClusterMap::Which::masters);
  if (masters.empty()) return fail(ErrorCode::unready, address.name() + ": its cluster is down: no node serves a key");
  return masters;
}

}  // namespace rlock::redis
