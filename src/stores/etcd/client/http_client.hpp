#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/http.hpp"
#include "stores/common/members.hpp"
#include "stores/etcd/address.hpp"
#include "stores/etcd/client.hpp"

namespace rlock::etcd {

/// The clock of the members, of which each answer tells the whole second.
class MemberClock {
 public:
  /// date: as the header has it; what is none is left out.
  void heard(std::string_view date);
  /// Microseconds since 1970; 0: nothing was heard. Does not step back while the members agree to a second.
  std::int64_t now_us() const;

 private:
  std::optional<std::int64_t> offset_us_;  ///< from BootClock
};

/// The gateway of etcd, JSON over HTTP/1.1. Where the URL has a user, each process asks for a token of its own, which
/// costs the member some 70 ms (bcrypt); it is asked for again where it has ended.
class HttpClient final : public Client {
 public:
  /// timeout bounds connecting, and the answers of a flight; 2 s do so too.
  HttpClient(const Address& address, base::Duration timeout);

  base::Result<std::vector<Answer>> flight(std::span<const Call> calls, base::Wait wait) override;
  base::Instant sent_at() const override { return sent_at_; }
  std::int64_t now_us() const override { return clock_.now_us(); }
  base::Result<void> stream(const Call& call, base::Wait wait) override;
  std::vector<pollfd> wait_fds() const override;
  base::Result<std::vector<nlohmann::json>> drain() override;
  base::Duration timeout() const override { return timeout_; }
  const std::string& name() const override { return members_.name(); }

 private:
  struct Stream {
    net::Http http;
    std::size_t member;
    std::string rest{};        ///< of a message that is not complete
    bool is_doubtful = false;  ///< its member has failed: it may be silent for ever
  };

  base::Duration time_per_member() const;
  base::Wait bounded(base::Wait wait) const;
  base::Result<void> open(base::Wait wait);
  base::Result<void> authenticate(base::Wait wait);
  base::Result<void> ask_token(base::Wait wait);
  base::Result<std::vector<Answer>> ask(std::span<const Call> calls, base::Wait wait);
  base::Result<std::vector<Answer>> ask_batch(std::span<const Call> calls, base::Wait wait);
  base::Error lost(base::Error error);
  base::Error lost_by(const net::HttpAnswer& http, base::Error error);
  base::Error without_user() const;
  base::Result<std::vector<nlohmann::json>> messages();
  std::string headers() const;

  stores::Members members_;
  std::string user_;
  std::optional<std::string> password_;
  stores::SecretSource source_;
  bool shows_certificate_;
  base::Duration timeout_;
  std::string token_;
  std::size_t silent_ = 0;    ///< so many tries in a row had no answer in time
  std::size_t cut_off_ = 0;   ///< so many gateways in a row could not connect to their members
  bool is_auth_off_ = false;  ///< the cluster has said so
  std::optional<net::Http> http_;
  std::optional<Stream> stream_;
  MemberClock clock_;
  base::Instant sent_at_{};
};

}  // namespace rlock::etcd
