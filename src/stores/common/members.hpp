#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/channel.hpp"
#include "net/lookup.hpp"
#include "net/target.hpp"
#include "stores/common/ensemble.hpp"

namespace rlock::stores {

/// The members of an ensemble, one of which is asked: a random one first, so that many clients spread over all of them.
class Members {
 public:
  Members(const Ensemble& ensemble, const EnsembleWords& words);

  /// A connection to the member that is asked. Fails with unreachable, refused (TLS), configuration or interrupted.
  base::Result<net::Channel> connect(base::Wait wait);
  /// Asks the next member from here on.
  void next() { at_ = (at_ + 1) % members_.size(); }
  std::size_t size() const { return members_.size(); }
  /// Which one is asked.
  std::size_t at() const { return at_; }
  /// "etcd at HOST:PORT": that one.
  const std::string& name() const { return members_[at_].name; }
  /// "HOST:PORT"; "localhost": a Unix socket.
  std::string host() const;

 private:
  struct Member {
    std::string name;
    std::optional<net::Lookup> lookup;  ///< nullopt: a Unix socket
    std::string revealed;               ///< its name once it was looked up; empty: as before
  };

  base::Result<net::Target> target_of(Member& member, base::Wait wait) const;

  std::vector<Member> members_;
  std::size_t at_ = 0;
  std::string socket_;
  std::optional<net::TlsSettings> tls_;
  net::Schemes schemes_;
};

}  // namespace rlock::stores
