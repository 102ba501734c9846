#include <algorithm>

#include "lock/last_run.hpp"
#include "stores/ordered/ordered.hpp"
#include "stores/ordered/turn.hpp"

// What status shows.
namespace rlock::ordered {

using base::Result;
using base::Wait;
using lock::Inspection;

namespace {

// Of one lock; they are listed beside its waiters.
constexpr std::int64_t max_holders = 1'000;
// Locks in one read.
constexpr std::size_t max_read = 100;

Inspection to_inspection(const Queue& queue, std::int64_t max_waiters, std::int64_t now_us) {
  Inspection seen;
  seen.now_us = now_us;
  if (queue.last_run) seen.last_run = lock::LastRun::decode(*queue.last_run);
  if (seen.last_run && seen.last_run->is_forgotten(now_us)) seen.last_run.reset();
  if (queue.unread) {
    seen.unread = queue.unread;
    seen.state = Inspection::State::held;
    seen.waiting = std::max<std::int64_t>(queue.size - 1, 0);
  }
  if (queue.first.empty()) return seen;
  seen.state = Inspection::State::held;
  seen.mode = queue.first.front().entry.mode;
  const auto holders = holders_in(std::span(queue.first));
  for (std::size_t i = 0; i < queue.first.size(); ++i) {
    const auto& listed = queue.first[i];
    const auto ttl = listed.record ? listed.record->ttl : base::Duration::zero();
    if (i < holders) seen.holders.push_back({lock_record(listed), listed.ttl_left.value_or(ttl)});
    if (i < holders || std::ssize(seen.waiters) >= max_waiters) continue;
    seen.waiters.push_back({listed.record ? listed.record->since_us : 0, lock_record(listed)});
  }
  seen.waiting = queue.size - static_cast<std::int64_t>(holders);
  return seen;
}

}  // namespace

Result<std::vector<Inspection>> Ordered::inspect(std::span<const std::string> wire_keys, std::int64_t max_waiters,
                                                 Wait wait) {
  std::vector<Inspection> result;
  result.reserve(wire_keys.size());
  while (!wire_keys.empty()) {
    const auto part = wire_keys.first(std::min(wire_keys.size(), max_read));
    wire_keys = wire_keys.subspan(part.size());
    const auto queues = RLOCK_TRY(store_->read(part, max_holders + max_waiters, TimesLeft::yes, wait));
    for (const auto& queue : queues) {
      result.push_back(to_inspection(queue, max_waiters, store_->now_us()));
    }
  }
  return result;
}

Result<std::vector<std::string>> Ordered::list(const std::string& prefix, Wait wait) {
  auto keys = RLOCK_TRY(store_->list(prefix, wait));
  for (auto& key : keys) key.erase(0, prefix.size());
  return keys;
}

}  // namespace rlock::ordered
