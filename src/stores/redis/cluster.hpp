#pragma once

#include <list>
#include <string>
#include <vector>

#include "stores/redis/locate/cluster_locator.hpp"
#include "stores/redis/single_server.hpp"

namespace rlock::redis {

/// The locks of a Cluster. The steps of a lock go to the master of its slot; what concerns many locks goes to every
/// master.
class Cluster final : public SingleServer {
 public:
  /// wire_key: the lock of the steps; for list() it does not matter.
  Cluster(Address address, const Greeting& greeting, base::Duration timeout, Greet greet, std::string_view wire_key,
          const Scripts& scripts, Safeguards safeguards);

  base::Result<std::vector<lock::Inspection>> inspect(std::span<const std::string> wire_keys, std::int64_t max_waiters,
                                                      base::Wait wait) override;
  /// Where a lock stands at two masters, since its slot is being moved, it is listed once.
  base::Result<std::vector<std::string>> list(const std::string& prefix, base::Wait wait) override;
  std::vector<lock::Unseen> unseen() const override;
  base::Result<std::vector<std::string>> warnings(base::Wait wait) override;

 private:
  /// A master, the connection to it, the wire keys that list() found there, and why it does not answer.
  struct Master {
    net::Endpoint where;
    ScriptRunner server;
    std::vector<std::string> here;
    std::optional<base::Error> error;
  };

  Session session_of(const net::Endpoint& master) const;
  void look_for(std::span<const net::Endpoint> masters);
  template <class Ask>
  base::Result<void> ask_each(base::Wait wait, Ask ask);

  Address address_;
  Greeting greeting_;
  const Scripts& scripts_;
  std::list<Master> masters_;  ///< those of the last list(); empty before
  base::Duration lost_{};      ///< spent since then on masters that did not answer
};

}  // namespace rlock::redis
