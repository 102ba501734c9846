#pragma once

#include <optional>
#include <string>

#include "stores/redis/client/locator.hpp"
#include "stores/redis/locate/local_server.hpp"

namespace rlock::redis {

/// Whether a server that is not there is started.
enum class OnDemand { start, fail };

/// The private server of this user on this machine. It keeps its locks in memory only: after pin(), it is not started
/// again and no other server is used in its place, since its locks ended with it.
class LocalLocator final : public Locator {
 public:
  explicit LocalLocator(OnDemand on_demand) : on_demand_(on_demand) {}

  base::Result<net::Target> locate(Reason reason, base::Wait wait) override;
  base::Result<bool> revive(base::Wait wait) override;
  base::Result<void> connected(int fd) override;
  bool has_moved() override;
  bool is_private() const override { return true; }
  void pin() override { on_demand_ = OnDemand::fail; }
  const std::string& name() const override { return name_; }

 private:
  bool must_be_the_same() const { return on_demand_ == OnDemand::fail && reached_; }

  std::string name_ = "local";
  OnDemand on_demand_;
  std::string socket_;
  LocalServer found_;                   ///< there when it was last located
  std::optional<LocalServer> reached_;  ///< of the last connection
};

}  // namespace rlock::redis
