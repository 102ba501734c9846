#include "stores/etcd/gateway.hpp"

#include <algorithm>
#include <iterator>

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
  return base::fail(ErrorCode::unready, client_->name() + " has a lease of each number that was tried");
}

Result<std::vector<Answer>> Gateway::ask_of_each(std::span<const LeaseId> leases, Call (*call_of)(LeaseId), Wait wait) {
  std::vector<Answer> all;
  while (all.size() < leases.size()) {
    std::vector<Call> calls;
    for (const LeaseId lease : leases.subspan(all.size(), std::min(leases.size() - all.size(), max_flight))) {
      calls.push_back(call_of(lease));
    }
    std::ranges::move(RLOCK_TRY(ask(calls, wait)), std::back_inserter(all));
  }
  return all;
}

Result<void> Gateway::revoke(std::span<const LeaseId> leases, Wait wait) {
  for (const Answer& answer : RLOCK_TRY(ask_of_each(leases, etcd::revoke, wait))) {
    if (!answer && !is_no_lease(answer.error())) return std::unexpected(refused(answer.error()));
  }
  return {};
}

Result<void> Gateway::revoke_idle(std::span<const LeaseId> leases, Wait wait) {
  const auto answers = RLOCK_TRY(ask_of_each(leases, keys_under, wait));
  std::vector<LeaseId> idle;
  for (std::size_t i = 0; i < leases.size(); ++i) {
    if (answers[i] && is_idle_lease(*answers[i])) idle.push_back(leases[i]);
  }
  return revoke(idle, wait);
}

Result<std::vector<std::optional<base::Duration>>> Gateway::times_left(std::span<const LeaseId> leases, Wait wait) {
  std::vector<std::optional<base::Duration>> left;
  for (const Answer& answer : RLOCK_TRY(ask_of_each(leases, time_to_live, wait))) {
    const auto seconds = answer ? read_seconds(*answer) : std::nullopt;
    left.push_back(seconds && *seconds >= 0 ? std::optional<base::Duration>(std::chrono::seconds(*seconds))
                                            : std::nullopt);
  }
  return left;
}

}  // namespace rlock::etcd
