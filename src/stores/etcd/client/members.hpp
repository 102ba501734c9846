#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/http.hpp"
#include "net/lookup.hpp"
#include "net/target.hpp"
#include "stores/etcd/address.hpp"

namespace rlock::etcd {

/// The members of a cluster, one of which is asked: a random one first, so that many spread over all of them.
class Members {
 public:
  explicit Members(const Address& address);

  /// A connection to the member that is asked. One that cannot be connected to is passed over, and the next is asked
  /// from then on; each has its share of the wait. Fails with unreachable, refused (TLS), configuration or interrupted.
  base::Result<net::Http> connect(base::Wait wait);
  /// Asks the next member from here on.
  void next() { at_ = (at_ + 1) % members_.size(); }
  std::size_t size() const { return members_.size(); }
  /// Which one is asked.
  std::size_t at() const { return at_; }
  /// "etcd at HOST:PORT": that one.
  const std::string& name() const { return members_[at_].name; }

 private:
  struct Member {
    std::string name;
    std::optional<net::Lookup> lookup;  ///< nullopt: a Unix socket
    std::string revealed;               ///< its name once it was looked up; empty: as before
  };

  base::Result<net::Http> connect_to(Member& member, base::Wait wait);
  base::Result<net::Target> target_of(Member& member, base::Wait wait);

  std::vector<Member> members_;
  std::size_t at_ = 0;
  std::string socket_;
  std::optional<net::TlsSettings> tls_;
};

}  // namespace rlock::etcd
