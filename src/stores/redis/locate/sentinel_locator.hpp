#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stores/redis/client/locator.hpp"
#include "stores/redis/client/session.hpp"
#include "stores/redis/locate/address.hpp"

namespace rlock::redis {

/// The master that Sentinels name. The first of them that answers is believed: the one that answered last is asked
/// first; one that is dead, silent or does not know the master costs a share of the wait. They are asked anew for each
/// connection.
///
/// A replica can be promoted while the old master still takes writes, which are lost, for 10 s and more (SENTINEL
/// FAILOVER, a master that was frozen). So the connection to the Sentinel stays open, and it tells of a new master. One
/// that is frozen or cut off tells nothing, so before each flight it has to have answered a moment ago.
class SentinelLocator final : public Locator {
 public:
  /// address: of kind sentinel.
  explicit SentinelLocator(const Address& address);

  base::Result<net::Target> locate(Reason reason, base::Wait wait) override;
  bool wants_master() const override { return true; }
  void check_watch(base::Wait wait) override;
  bool has_moved() override { return has_news(); }
  bool has_news() override;
  std::vector<int> watch_fds() const override { return watch_ ? watch_->fds() : std::vector<int>{}; }
  base::Duration young_for(base::Duration grace) const override;
  std::optional<base::Duration> failover_after() const override { return master_ ? master_->down_after : std::nullopt; }
  const std::string& name() const override { return name_; }

 private:
  struct Master {
    net::Endpoint endpoint;
    base::Instant since{};                     ///< when it was promoted, or later
    std::optional<base::Duration> down_after;  ///< after how long of silence the Sentinels replace it
  };

  base::Result<Master> ask_sentinels(base::Wait wait);
  base::Result<Master> ask(const net::Endpoint& sentinel, base::Wait wait);
  Session session_with(const net::Endpoint& sentinel) const;
  std::string known(const net::Endpoint& sentinel, base::Wait wait) const;
  std::optional<net::Endpoint> master_told_by(const Reply& message) const;
  void hear(const Reply& message);
  base::Result<void> probe_watch(base::Wait wait);

  Address address_;
  Greeting greeting_;                     ///< of the Sentinels
  std::vector<net::Endpoint> sentinels_;  ///< in the order to ask them
  std::string name_;
  std::optional<Master> master_;  ///< the last that was located
  std::optional<Session> watch_;  ///< to the Sentinel that named it, which tells of a new one
  base::Instant watch_heard_{};   ///< when that one last answered
  base::Instant watch_again_{};   ///< where there is none
  bool has_moved_ = false;
};

}  // namespace rlock::redis
