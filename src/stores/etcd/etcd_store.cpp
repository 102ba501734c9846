#include "stores/etcd/etcd_store.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text/duration.hpp"

namespace rlock::etcd {

using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::Instant;
using base::Result;
using base::Wait;
using ordered::Entry;
using ordered::Join;
using ordered::Listed;
using ordered::Record;
using ordered::View;
using Json = nlohmann::json;

namespace {

// Each of our own tries, and each renewal of another process, costs one.
constexpr int max_tries = 10;
// Of whom one is told that comes to the end of a queue: a thousand who come would be told of half a million.
constexpr std::int64_t max_nearest = 64;

// Whoever has these ahead, or more, knows whether it holds. A reader may have any number of readers ahead.
nlohmann::json nearest_in(const Range& queue, const lock::Mode& mode) {
  if (mode.kind == lock::Mode::Kind::shared) return names_in(queue);
  // Our own entry is one of them.
  return last_names_in(queue, 1 + std::max<std::int64_t>(mode.is_for_several() ? mode.slots : 0, max_nearest));
}

}  // namespace

EtcdStore::EtcdStore(std::unique_ptr<Client> client, std::string prefix, std::string wire_key)
    : gateway_(std::move(client)),
      keys_(std::move(prefix)),
      wire_key_(std::move(wire_key)),
      queue_(keys_.queue(wire_key_)) {}

void EtcdStore::name_entry(const std::string& token, std::string key) {
  if (key == key_) return;
  token_ = token;
  key_ = std::move(key);
  forget_entry();
}

void EtcdStore::forget_entry() {
  fence_ = version_ = 0;
  lease_ = 0;
  lasts_until_ = {};
  of_others_.clear();
}

// Those that may end together with the entry; what --hold keeps something under is none of them.
std::vector<LeaseId> EtcdStore::leases_of_others(const KeyValue& entry) const {
  const auto record = Record::decode(entry.value);
  if (!record) return {};
  auto leases = leases_of(record->session);
  if (entry.lease > 0 && record->state != Record::State::ended) leases.push_back(entry.lease);
  std::erase_if(leases, [&](LeaseId lease) { return leases_.has(lease); });
  return leases;
}

// false: the one that we had is gone, and this is another one under its name.
bool EtcdStore::adopt(const KeyValue& entry) {
  if (fence_ != 0 && fence_ != entry.created) return false;
  const auto record = Record::decode(entry.value);
  if (record && record->state != Record::State::waits && entry.version != version_) {
    lasts_until_ = std::max(lasts_until_, BootClock::now() + record->ttl);
  }
  fence_ = entry.created;
  version_ = entry.version;
  lease_ = entry.lease;
  of_others_ = leases_of_others(entry);
  may_be_there_ = true;
  return true;
}

View EtcdStore::view_of(const Outcome& outcome, const StepResult& names, Instant sent) {
  revision_ = outcome.revision;
  View view;
  view.fence = fence_;
  view.sent = sent;
  for (const auto& entry : names.found) {
    if (entry.created >= fence_) continue;
    view.ahead.push_back(to_entry(entry));
  }
  std::ranges::sort(view.ahead, {}, &ordered::Entry::order);
  return view;
}

std::optional<Listed> EtcdStore::head_of(const StepResult& first) {
  if (first.found.empty()) return std::nullopt;
  return to_listed(first.found.front());
}

Result<Lease> EtcdStore::grant_for(const Record& record, Wait wait) {
  auto lease = RLOCK_TRY(gateway_.grant(record.ttl, wait));
  const Duration asked = std::chrono::seconds(lease_seconds(record.ttl));
  if (lease.ttl <= asked || record.state == Record::State::waits) return lease;
  (void)gateway_.revoke({&lease.id, 1}, wait);
  const auto least = base::format_duration(lease.ttl);
  return base::fail(ErrorCode::usage, "--ttl " + base::format_duration(record.ttl) +
                                          " is less than this etcd grants, " + least + "; use --ttl " + least +
                                          " or more");
}

// Of a queue that somebody is in, as the member has it, the majority is asked: that costs nothing where the lock is
// free.
Result<bool> EtcdStore::is_empty(Wait wait) {
  for (const auto reads : {Reads::local, Reads::majority}) {
    const auto found = read_range(RLOCK_TRY(gateway_.ask(page_of(queue_, 1, reads), wait)));
    if (!found) return std::unexpected(gateway_.senseless());
    if (found->count == 0) return true;
  }
  return false;
}

Result<Outcome> EtcdStore::make_entry(const Lease& lease, const Record& record, Join join, Wait wait) {
  const auto nearest = nearest_in(queue_, read_entry_name(key_).mode);
  const auto call =
      transaction({join == Join::if_empty ? etcd::is_empty(queue_) : is_absent(key_)},
                  {put(key_, record.encode(), lease.id), nearest, first_in(queue_, 1)}, {get(key_), nearest});
  const bool was_there = std::exchange(may_be_there_, true);
  leases_.add(lease.id);
  auto outcome = gateway_.transact(call, 3, 2, wait);
  if (!outcome && outcome.error().code == ErrorCode::refused) may_be_there_ = was_there;
  if (outcome) leases_.ends_within(lease.id, lease.ttl);
  if (outcome && !outcome->held && !was_there) may_be_there_ = false;
  return outcome;
}

Result<std::optional<View>> EtcdStore::enter(const std::string& token, lock::Mode mode, const Record& record, Join join,
                                             Wait wait) {
  name_entry(token, keys_.entry(wire_key_, token, mode));
  forget_entry();
  if (join == Join::if_empty && !may_be_there_ && !RLOCK_TRY(is_empty(wait))) return std::nullopt;
  const auto lease = RLOCK_TRY(grant_for(record, wait));
  auto dated = record;
  if (dated.since_us == 0) dated.since_us = now_us();
  const auto outcome = RLOCK_TRY(make_entry(lease, dated, join, wait));
  if (!outcome.held) return RLOCK_TRY(found_instead(outcome, dated, join, wait));
  fence_ = version_ = outcome.revision;
  lease_ = lease.id;
  auto view = view_of(outcome, outcome.steps[1], lease.sent);
  // All others came before us.
  view.further = std::max<std::int64_t>(outcome.steps[1].count - 1 - std::ssize(view.ahead), 0);
  view.head = head_of(outcome.steps[2]);
  return view;
}

// An earlier try of ours has made it, or the queue is not empty.
Result<std::optional<View>> EtcdStore::found_instead(const Outcome& outcome, const Record& record, Join join,
                                                     Wait wait) {
  const auto& own = outcome.steps[0].found;
  if (!own.empty() && adopt(own.front())) return move(record, {}, wait);
  if (join == Join::always) return std::unexpected(gateway_.senseless());
  RLOCK_TRY(revoke_others(wait));
  return std::nullopt;
}

Result<std::optional<Listed>> EtcdStore::find(const std::string& token, Wait wait) {
  const auto call = transaction({}, {first_in(keys_.entries(wire_key_, token), 1)});
  const auto outcome = RLOCK_TRY(gateway_.transact(call, 1, 0, wait));
  if (outcome.steps[0].found.empty()) return std::nullopt;
  const auto& entry = outcome.steps[0].found.front();
  name_entry(token, entry.key);
  forget_entry();
  adopt(entry);
  const auto left = RLOCK_TRY(gateway_.times_left({&entry.lease, 1}, wait));
  // What is left is told in whole seconds.
  if (left.front()) lasts_until_ = std::min(lasts_until_, BootClock::now() + *left.front() + std::chrono::seconds(1));
  auto listed = to_listed(entry);
  listed.ttl_left = left.front();
  return listed;
}

Result<std::optional<View>> EtcdStore::confirm(const Record& record, Wait wait) { return move(record, {}, wait); }

// nullopt: it is gone.
Result<std::optional<View>> EtcdStore::move(Record record, const std::vector<Json>& more, Wait wait) {
  const auto asked = record.ttl;
  std::optional<Lease> lease;
  for (int tries = 0; tries < max_tries; ++tries) {
    if (record.state != Record::State::ended) record.ttl = ordered::at_least(asked, lasts_until_);
    auto moved = RLOCK_TRY(try_to_move(record, more, lease, wait));
    if (moved.how == Moved::How::moved) return std::move(moved.view);
    if (moved.how == Moved::How::gone) return std::nullopt;
  }
  return base::fail(ErrorCode::unready, name() + ": others renew this entry all the time");
}

// A lease that is missing is granted in the same flight: where the transaction comes late, the version has moved.
Result<std::vector<Answer>> EtcdStore::flight_to_move(const Record& record, const std::vector<Json>& more,
                                                      std::optional<Lease>& lease, Wait wait) {
  std::vector<Call> calls;
  if (lease && lease->ttl < record.ttl) lease.reset();
  const bool is_new = !lease;
  if (is_new) lease = Lease{.id = random_lease(), .ttl = record.ttl};
  if (is_new) calls.push_back(grant(lease->id, lease->ttl));
  auto earlier = leases_.others(lease->id);
  std::ranges::copy(of_others_, std::back_inserter(earlier));
  auto written = record;
  written.session = session_of(earlier);
  std::vector<Json> then{put(key_, written.encode(), lease->id), names_in(queue_, fence_)};
  then.insert(then.end(), more.begin(), more.end());
  calls.push_back(transaction({is_present(key_), is_of_version(key_, version_)}, std::move(then), {get(key_)}));
  auto answers = RLOCK_TRY(gateway_.ask(calls, wait));
  if (is_new) lease->sent = gateway_.client().sent_at();
  leases_.ends_within(lease->id, lease->ttl);
  return answers;
}

Result<EtcdStore::Moved> EtcdStore::try_to_move(const Record& record, const std::vector<Json>& more,
                                                std::optional<Lease>& lease, Wait wait) {
  const auto answers = RLOCK_TRY(flight_to_move(record, more, lease, wait));
  const auto& granted = answers.front();
  // Sent twice, by a client that had no answer: the lease counts from the first time, which we do not know.
  const bool is_proof = answers.size() == 1 || granted || !is_lease_there(granted.error());
  if (answers.size() == 2 && is_proof && RLOCK_TRY(gateway_.seconds(granted)) < lease_seconds(record.ttl)) {
    return std::unexpected(gateway_.senseless());
  }
  auto moved = RLOCK_TRY(this->moved(answers.back(), 2 + more.size(), lease));
  if (!is_proof) lease.reset();
  if (!is_proof && moved.how == Moved::How::moved) moved.how = Moved::How::again;
  return moved;
}

// Sets what we know of the entry. `lease` is emptied where the members do not have it.
Result<EtcdStore::Moved> EtcdStore::moved(const Answer& answer, std::size_t steps, std::optional<Lease>& lease) {
  if (!answer && is_no_lease(answer.error())) {
    lease.reset();
    return Moved{};
  }
  const auto outcome = RLOCK_TRY(gateway_.outcome(answer, steps, 1));
  if (outcome.held) {
    version_ = outcome.revision;
    lease_ = lease->id;
    return Moved{Moved::How::moved, view_of(outcome, outcome.steps[1], lease->sent)};
  }
  const auto& own = outcome.steps[0].found;
  if (!own.empty() && adopt(own.front())) return Moved{};
  forget_entry();
  return Moved{.how = Moved::How::gone};
}

Result<std::optional<View>> EtcdStore::look(Wait wait) {
  const auto call = transaction({is_made_at(key_, fence_)}, {names_in(queue_, fence_), first_in(queue_, 1)});
  const auto outcome = RLOCK_TRY(gateway_.transact(call, 2, 0, wait));
  if (!outcome.held || fence_ == 0) return std::nullopt;
  auto view = view_of(outcome, outcome.steps[0], Instant{});
  view.head = head_of(outcome.steps[1]);
  return view;
}

Result<bool> EtcdStore::stand(std::span<const Entry> entries, Wait wait) {
  std::vector<Json> names{local_name(key_)};
  for (const auto& entry : entries) names.push_back(local_name(entry.name));
  const auto count = names.size();
  const auto outcome = RLOCK_TRY(gateway_.transact(transaction({}, std::move(names)), count, 0, wait));
  const auto stands = [&](std::size_t step, std::uint64_t order) {
    const auto& found = outcome.steps[step].found;
    return !found.empty() && found.front().created == order;
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!stands(i + 1, entries[i].order)) return false;
  }
  return stands(0, fence_);
}

Result<bool> EtcdStore::keep_alive(Wait wait) {
  const Call call = etcd::keep_alive(lease_);
  const auto answers = RLOCK_TRY(gateway_.ask({&call, 1}, wait));
  return RLOCK_TRY(gateway_.seconds(answers.front())) > 0;
}

}  // namespace rlock::etcd
