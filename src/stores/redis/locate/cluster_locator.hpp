#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stores/redis/client/locator.hpp"
#include "stores/redis/client/session.hpp"
#include "stores/redis/locate/address.hpp"

namespace rlock::redis {

/// The master of one slot of a Cluster. Which node that is, any node can say: at first those of the URL, later all that
/// were heard of, those that served last first. A node that is dead or silent costs a share of the wait. They are asked
/// anew whenever the connection to the master broke.
class ClusterLocator final : public Locator {
 public:
  /// The greeting is for every node.
  ClusterLocator(const Address& address, Greeting greeting, std::uint16_t slot);
  /// A node of a Cluster: nobody is asked, but a redirection is followed.
  ClusterLocator(const Address& address, Greeting greeting, net::Endpoint node);

  base::Result<net::Target> locate(Reason reason, base::Wait wait) override;
  bool is_of_cluster() const override { return true; }
  bool redirected(const std::string& place) override;
  std::unique_ptr<Locator> other(const std::string& place) const override;
  const std::string& name() const override { return name_; }

 private:
  base::Result<net::Endpoint> ask_nodes(base::Wait wait);

  Address address_;
  Greeting greeting_;
  std::optional<std::uint16_t> slot_;
  std::string name_;
  std::vector<net::Endpoint> nodes_;   ///< in the order to ask them
  std::optional<net::Endpoint> node_;  ///< the last that was located
};

/// The masters of a Cluster that have slots, each once.
base::Result<std::vector<net::Endpoint>> masters_of(const Address& address, const Greeting& greeting, base::Wait wait);

}  // namespace rlock::redis
