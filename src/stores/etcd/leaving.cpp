// How entries end, and what they leave behind.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.hpp"
#include "stores/etcd/etcd_store.hpp"
#include "stores/etcd/shared_lease.hpp"

namespace rlock::etcd {

using base::ErrorCode;
using base::Result;
using base::Wait;
using ordered::Entry;
using ordered::LeaveOptions;
using Json = nlohmann::json;

namespace {

using namespace std::chrono_literals;

constexpr base::Duration told_for = 1min;
constexpr std::size_t max_removed = 64;

}  // namespace

EtcdStore::Left EtcdStore::left_behind(const LeaveOptions& leaving) const {
  Left left;
  const auto add = [&](const std::string& key, const std::string& value, const SharedLease& lease) {
    left.puts.push_back(put(key, value, lease.id));
    left.grants.push_back(grant(lease.id, lease.ttl));
  };
  if (!leaving.last_run.empty()) {
    add(keys_.last_run(wire_key_), leaving.last_run, shared_lease("last run", leaving.remembered, now_us()));
  }
  if (leaving.leaves_note) add(keys_.released(wire_key_, token_), "", shared_lease("released", told_for, now_us()));
  return left;
}

// Most often somebody else has granted them before.
Result<void> EtcdStore::grant_shared(const Left& left, Wait wait) {
  if (left.grants.empty()) return {};
  const auto answers = RLOCK_TRY(gateway_.ask(left.grants, wait));
  for (const Answer& answer : answers) {
    if (!answer && !is_lease_there(answer.error())) return std::unexpected(gateway_.refused(answer.error()));
  }
  return {};
}

Result<bool> EtcdStore::erase(const Left& left, Wait wait) {
  std::vector<Json> steps{etcd::erase(key_)};
  steps.insert(steps.end(), left.puts.begin(), left.puts.end());
  const auto call = transaction({is_present(key_)}, steps);
  auto answers = RLOCK_TRY(gateway_.ask(std::span(&call, 1), wait));
  if (!answers.front() && is_no_lease(answers.front().error())) {
    RLOCK_TRY(grant_shared(left, wait));
    answers = RLOCK_TRY(gateway_.ask(std::span(&call, 1), wait));
  }
  const auto outcome = RLOCK_TRY(gateway_.outcome(answers.front(), steps.size(), 0));
  if (outcome.held) took_away(outcome.steps.front());
  return outcome.held;
}

void EtcdStore::took_away(const StepResult& ended) {
  for (const auto& entry : ended.found) std::ranges::copy(leases_of_others(entry), std::back_inserter(needless_));
}

// Members without space still delete. They may carry out the first request that finds none, and say otherwise.
Result<bool> EtcdStore::erase_at_least(const Left& left, Wait wait) {
  auto erased = erase(left, wait);
  if (erased || erased.error().code != ErrorCode::unready || left.puts.empty()) return erased;
  if (RLOCK_TRY(erase({}, wait))) {
    base::log_info("released, but its last run is not remembered: " + erased.error().message);
    return true;
  }
  forget_entry();
  may_be_there_ = false;
  return base::fail(ErrorCode::unreachable, erased.error().message);
}

Result<bool> EtcdStore::leave(const LeaveOptions& leaving, Wait wait) {
  const auto left = left_behind(leaving);
  bool was_there = false;
  if (leaving.hold > base::Duration::zero()) {
    RLOCK_TRY(grant_shared(left, wait));
    auto record = leaving.ended;
    record.ttl = leaving.hold;
    was_there = RLOCK_TRY(move(std::move(record), left.puts, wait)).has_value();
  } else {
    was_there = RLOCK_TRY(erase_at_least(left, wait));
    lease_ = 0;
  }
  RLOCK_TRY(revoke_others(wait));
  forget_entry();
  may_be_there_ = false;
  revoke_needless(wait);
  return was_there;
}

// Those that nobody needs any more, which is all but the one of our entry.
Result<void> EtcdStore::revoke_others(Wait wait) {
  const bool must = leases_.must_revoke(lease_);
  auto revoked = gateway_.revoke(leases_.others(lease_), wait);
  if (!revoked && must) return revoked;
  leases_.clear();
  return {};
}

Result<bool> EtcdStore::remove(std::span<const Entry> entries, Wait wait) {
  bool were_all_there = true;
  while (!entries.empty()) {
    const auto some = entries.first(std::min(entries.size(), max_removed));
    std::vector<Call> calls;
    for (const Entry& entry : some) {
      calls.push_back(
          transaction({is_present(entry.name), is_of_version(entry.name, entry.version)}, {etcd::erase(entry.name)}));
    }
    const auto answers = RLOCK_TRY(gateway_.ask(calls, wait));
    for (const Answer& answer : answers) {
      const auto outcome = RLOCK_TRY(gateway_.outcome(answer, 1, 0));
      were_all_there &= outcome.held;
      if (outcome.held) took_away(outcome.steps.front());
    }
    entries = entries.subspan(some.size());
  }
  revoke_needless(wait);
  return were_all_there;
}

// A lease that something is under stays, whatever a record says of it: what one may write who holds a lock, the other
// may not end. Those that are not heard of end with their ttl.
void EtcdStore::revoke_needless(Wait wait) { (void)gateway_.revoke_idle(std::exchange(needless_, {}), wait); }

Result<bool> EtcdStore::was_released(const std::string& token, Wait wait) {
  const auto call = transaction({is_present(keys_.released(wire_key_, token))}, {});
  return RLOCK_TRY(gateway_.transact(call, 0, 0, wait)).held;
}

}  // namespace rlock::etcd
