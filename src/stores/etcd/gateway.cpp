#include "stores/etcd/gateway.hpp"

#include <algorithm>

namespace rlock::etcd {

using base::ErrorCode;
using base::Result;
using base::Wait;

namespace {

// What a member carries out for one flight, one after the other.
constexpr std::size_t max_flight = 64;
constexpr int max_tries = 3;

}  // namespace

base::Error Gateway::senseless() const {
  return {ErrorCode::internal, client_->name() + " gave an answer that rlock does not understand"};
}

base::Error Gateway::refused(const Refusal& refusal) const {
  if (refusal.code == Refusal::too_long) {
    return {ErrorCode::unready, client_->name() + " answers with more than 8 MiB; remove what nobody needs any more"};
  }
  return {ErrorCode::internal, client_->name() + ": " + refusal.message};
}

Result<std::vector<Answer>> Gateway::ask(std::span<const Call> calls, Wait wait) {
  auto answers = RLOCK_TRY(client_->flight(calls, wait));
  if (answers.size() != calls.size()) return std::unexpected(senseless());
  return answers;
}

Result<nlohmann::json> Gateway::ask(Call call, Wait wait) {
  auto answers = RLOCK_TRY(ask(std::span<const Call>(&call, 1), wait));
  if (!answers.front()) return std::unexpected(refused(answers.front().error()));
  return *std::move(answers.front());
}

Result<Outcome> Gateway::outcome(const Answer& answer, std::size_t then, std::size_t otherwise) const {
  if (!answer) return std::unexpected(refused(answer.error()));
  auto outcome = read_transaction(*answer);
  if (!outcome || outcome->steps.size() != (outcome->held ? then : otherwise)) return std::unexpected(senseless());
  return *std::move(outcome);
}

Result<Outcome> Gateway::transact(Call call, std::size_t then, std::size_t otherwise, Wait wait) {
  const Answer answer = RLOCK_TRY(ask(std::move(call), wait));
  return outcome(answer, then, otherwise);
}

Result<std::int64_t> Gateway::seconds(const Answer& answer) const {
  if (!answer) return std::unexpected(refused(answer.error()));
  const auto seconds = read_seconds(*answer);
  if (!seconds) return std::unexpected(senseless());
  return *seconds;
}

Result<Lease> Gateway::grant(base::Duration ttl, Wait wait) {
  for (int tries = 0; tries < max_tries; ++tries) {
    Lease lease{.id = random_lease()};
    const Call call = etcd::grant(lease.id, ttl);
    const auto answers = RLOCK_TRY(ask(std::span(&call, 1), wait));
    // Asked for twice, by a client that had no answer to the first: it counts from the first.
    if (!answers.front() && is_lease_there(answers.front().error())) continue;
    const auto granted = RLOCK_TRY(seconds(answers.front()));
    if (granted < lease_seconds(ttl)) return std::unexpected(senseless());
    lease.sent = client_->sent_at();
    lease.ttl = std::chrono::seconds(granted);
    return lease;
  }
  return base::fail(ErrorCode::unready, client_->name() + " has every lease already");
}

Result<void> Gateway::revoke(std::span<const LeaseId> leases, Wait wait) {
  while (!leases.empty()) {
    const auto some = leases.first(std::min(leases.size(), max_flight));
    std::vector<Call> calls;
    for (const LeaseId lease : some) calls.push_back(etcd::revoke(lease));
    const auto answers = RLOCK_TRY(ask(calls, wait));
    for (const Answer& answer : answers) {
      if (!answer && !is_no_lease(answer.error())) return std::unexpected(refused(answer.error()));
    }
    leases = leases.subspan(some.size());
  }
  return {};
}

Result<void> Gateway::revoke_idle(std::span<const LeaseId> leases, Wait wait) {
  std::vector<LeaseId> idle;
  while (!leases.empty()) {
    const auto some = leases.first(std::min(leases.size(), max_flight));
    std::vector<Call> calls;
    for (const LeaseId lease : some) calls.push_back(keys_under(lease));
    const auto answers = RLOCK_TRY(ask(calls, wait));
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (answers[i] && is_idle_lease(*answers[i])) idle.push_back(some[i]);
    }
    leases = leases.subspan(some.size());
  }
  return revoke(idle, wait);
}

Result<std::vector<std::optional<base::Duration>>> Gateway::times_left(std::span<const LeaseId> leases, Wait wait) {
  std::vector<std::optional<base::Duration>> left;
  while (left.size() < leases.size()) {
    const auto some = leases.subspan(left.size(), std::min(leases.size() - left.size(), max_flight));
    std::vector<Call> calls;
    for (const LeaseId lease : some) calls.push_back(time_to_live(lease));
    const auto answers = RLOCK_TRY(ask(calls, wait));
    for (const Answer& answer : answers) {
      const auto seconds = answer ? read_seconds(*answer) : std::nullopt;
      left.push_back(seconds && *seconds >= 0 ? std::optional<base::Duration>(std::chrono::seconds(*seconds))
                                              : std::nullopt);
    }
  }
  return left;
}

}  // namespace rlock::etcd
