#include <algorithm>

#include "base/log.hpp"
#include "lock/last_run.hpp"
#include "stores/ordered/ordered.hpp"
#include "stores/ordered/turn.hpp"

// The steps of a holder.
namespace rlock::ordered {

using namespace std::chrono_literals;
using base::ErrorCode;
using base::Result;
using base::Wait;
using lock::Ownership;
using lock::ReleaseOutcome;

namespace {

// Of many holders those that are named when they are released.
constexpr std::int64_t most_released = 1'000;
constexpr int max_force_tries = 5;

// Neither one that waits nor one whose command has ended: under --hold nobody renews it.
bool holds_now(const std::optional<Listed>& found) {
  return found && found->record && found->record->state == Record::State::holds;
}

}  // namespace

// Of an entry of another process too: nested runs, the keeper and `renew` know its token alone.
Result<std::optional<View>> Ordered::renewed(const lock::Request& request, Wait wait) {
  if (!record_) {
    const auto found = RLOCK_TRY(store_->find(request.token, wait));
    if (!holds_now(found)) return std::nullopt;
    record_ = found->record;
  }
  auto record = *record_;
  record.state = Record::State::holds;
  record.ttl = request.ttl;
  return confirm(std::move(record), wait);
}

Result<Ownership> Ordered::renew(const lock::Request& request, lock::Watch watch, Wait wait) {
  wait = bounded(wait);
  const auto view = RLOCK_TRY(renewed(request, wait));
  if (!view || !holds(request.mode, view->ahead)) return without_us(request, wait);
  is_to_tell_ = watch == lock::Watch::yes;
  if (is_to_tell_ && !watched_) {
    // Whoever is not told finds out with the next renewal.
    (void)this->watch({.whom = Watched::Whom::own}, wait);
  }
  return Ownership{.holder = Ownership::Holder::us, .fence = view->fence, .counts_from = view->sent};
}

Result<Ownership> Ordered::check(const lock::Request& request, Wait wait) {
  wait = bounded(wait);
  const auto found = RLOCK_TRY(store_->find(request.token, wait));
  if (!holds_now(found)) return without_us(request, wait);
  record_ = found->record;
  return Ownership{
      .holder = Ownership::Holder::us, .fence = found->fence, .record = lock_record(*found), .mode = found->entry.mode};
}

Result<Ownership> Ordered::without_us(const lock::Request& request, Wait wait) {
  const auto queue = RLOCK_TRY(queue_of(request, 1, wait));
  return Ownership{.holder = queue.size > 0 ? Ownership::Holder::other : Ownership::Holder::nobody,
                   .is_released = RLOCK_TRY(store_->was_released(request.token, wait))};
}

Result<lock::Released> Ordered::release(const lock::Request& request, const lock::ReleaseOptions& options, Wait wait) {
  wait = bounded(wait);
  if (options.force == lock::Force::yes) return force(request, wait);
  bool is_waiter = false;
  if (!store_->may_be_there()) {
    const auto found = RLOCK_TRY(store_->find(request.token, wait));
    const auto is = [&](Record::State state) { return found && found->record && found->record->state == state; };
    // A hold belongs to nobody any more.
    if (is(Record::State::ended)) return lock::Released{ReleaseOutcome::not_owner};
    is_waiter = is(Record::State::waits);
  }
  bool was_there = false;
  if (store_->may_be_there()) {
    const auto leaving = RLOCK_TRY(leave_options(request, options, wait));
    auto left = store_->leave(leaving, wait);
    if (!left) release_unanswered_ |= left.error().code == ErrorCode::unreachable;
    was_there = RLOCK_TRY(std::move(left));
  }
  record_.reset();
  watched_.reset();
  if (was_there) return lock::Released{is_waiter ? ReleaseOutcome::not_owner : ReleaseOutcome::released};
  if (release_unanswered_) return lock::Released{ReleaseOutcome::unknown};
  const auto queue = RLOCK_TRY(queue_of(request, 0, wait));
  return lock::Released{queue.size > 0 ? ReleaseOutcome::not_owner : ReleaseOutcome::absent};
}

Result<LeaveOptions> Ordered::leave_options(const lock::Request& request, const lock::ReleaseOptions& options,
                                            Wait wait) {
  LeaveOptions leaving{.hold = options.hold, .remembered = options.remember, .leaves_note = !is_made_here_};
  if (record_) leaving.ended = *record_;
  leaving.ended.state = Record::State::ended;
  leaving.ended.since_us = store_->now_us();
  leaving.ended.ttl = options.hold;
  if (options.last_run.empty()) return leaving;
  // One that has failed does not make the last success forgotten.
  const bool has_succeeded = options.last_run.starts_with("0 ");
  std::optional<lock::LastRun> before;
  if (!has_succeeded) {
    const auto queue = RLOCK_TRY(queue_of(request, 0, wait));
    if (queue.last_run) before = lock::LastRun::decode(*queue.last_run);
  }
  leaving.remembered = std::max(options.remember, lock::LastRun::once_of(options.last_run));
  if (before) leaving.remembered = std::max(leaving.remembered, before->once);
  leaving.last_run = lock::LastRun::stored(options.last_run, leaving.remembered, store_->now_us(), before);
  return leaving;
}

// A holder that renews meanwhile has another version by then, and is looked at again.
Result<lock::Released> Ordered::force(const lock::Request& request, Wait wait) {
  for (int tries = 0; tries < max_force_tries; ++tries) {
    const auto queue = RLOCK_TRY(queue_of(request, most_released, wait));
    const auto held = std::span(queue.first).first(holders_in(std::span(queue.first)));
    if (held.empty()) return lock::Released{ReleaseOutcome::absent};
    std::vector<Entry> entries;
    lock::Released released{ReleaseOutcome::released};
    for (const auto& holder : held) {
      entries.push_back(holder.entry);
      if (auto record = lock_record(holder)) released.holders.push_back(std::move(*record));
    }
    if (RLOCK_TRY(store_->remove(entries, wait))) return released;
  }
  return base::fail(ErrorCode::unready, name() + ": the lock changes too fast to be released; try again");
}

}  // namespace rlock::ordered
