#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stores/etcd/answers.hpp"
#include "stores/etcd/client.hpp"

namespace rlock::etcd {

/// A lease, and the proof that comes with it.
struct Lease {
  LeaseId id = 0;
  base::Duration ttl{};  ///< as it was asked for; it lasts for that from `sent` on at least
  base::Instant sent{};  ///< before its request was
};

/// The client, and what its answers mean. What nobody has foreseen is an internal error that names the member.
class Gateway {
 public:
  explicit Gateway(std::unique_ptr<Client> client) : client_(std::move(client)) {}

  Client& client() { return *client_; }
  const Client& client() const { return *client_; }

  /// In one flight; as many answers.
  base::Result<std::vector<Answer>> ask(std::span<const Call> calls, base::Wait wait);
  /// One that is not refused.
  base::Result<nlohmann::json> ask(Call call, base::Wait wait);
  /// Has so many steps where its conditions hold, and so many where they do not.
  base::Result<Outcome> transact(Call call, std::size_t then, std::size_t otherwise, base::Wait wait);
  base::Result<Outcome> outcome(const Answer& answer, std::size_t then, std::size_t otherwise) const;
  /// How many seconds are granted, or left.
  base::Result<std::int64_t> seconds(const Answer& answer) const;

  /// A lease of ttl, or of the least that is granted.
  base::Result<Lease> grant(base::Duration ttl, base::Wait wait);
  /// Those that are there.
  base::Result<void> revoke(std::span<const LeaseId> leases, base::Wait wait);
  /// Those that nothing is under.
  base::Result<void> revoke_idle(std::span<const LeaseId> leases, base::Wait wait);
  /// How long each lease has left; nullopt: not known.
  base::Result<std::vector<std::optional<base::Duration>>> times_left(std::span<const LeaseId> leases, base::Wait wait);

  base::Error senseless() const;
  base::Error refused(const Refusal& refusal) const;

 private:
  /// In flights of a bounded size; as many answers as leases.
  base::Result<std::vector<Answer>> ask_of_each(std::span<const LeaseId> leases, Call (*call_of)(LeaseId),
                                                base::Wait wait);

  std::unique_ptr<Client> client_;
};

}  // namespace rlock::etcd
