#include "stores/ordered/ordered.hpp"

#include <algorithm>
#include <random>

#include "base/random_seed.hpp"
#include "lock/lease.hpp"
#include "stores/ordered/turn.hpp"

namespace rlock::ordered {

using namespace std::chrono_literals;
using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::Instant;
using base::Result;
using base::Wait;

namespace {

// The entry of a waiter outlives a member that is lost, however short the ttl: with it the place would be gone.
constexpr Duration waiter_lease = 60s;
// Waiters this near look often: where all ahead are frozen, nobody else finds that a claim has lapsed.
constexpr std::int64_t near_rank = 40;
constexpr Duration usual_look = 5s;
constexpr Duration nearest_look = 1s;
constexpr Duration look_of_near_rank = 100ms;
constexpr Duration look_of_far_rank = 250ms;
constexpr Duration farthest_look = 2min;
constexpr Duration claim_of_rank = 10ms;

Duration jittered(Duration pause) {
  static std::minstd_rand random{base::random_seed()};
  return pause - Duration(std::uniform_int_distribution<Duration::rep>(0, pause.count() / 5)(random));
}

base::Error other_mode(const lock::Request& request, const Entry& other) {
  return {ErrorCode::configuration, lock::clash(request.name.key, other.mode, request.mode)};
}

}  // namespace

// The first request does not queue. Only of an exclusive lock can the store say that it is free.
Result<std::optional<View>> Ordered::enter(const lock::Request& request, lock::Queue queue, Wait wait) {
  const bool is_exclusive = !request.mode.is_for_several();
  const bool is_first_try = queue == lock::Queue::no;
  const auto join = is_exclusive && is_first_try ? Join::if_empty : Join::always;
  const bool may_hold_at_once = join == Join::if_empty || !is_exclusive;
  const auto record = record_of(request, may_hold_at_once ? Record::State::holds : Record::State::waits);
  is_made_here_ = true;
  auto view = store_->enter(request.token, request.mode, record, join, wait);
  if (!view || !*view) return view;
  record_ = record;
  // Before the first answer nobody knew the store's time.
  if (record_->since_us == 0) record_->since_us = store_->now_us();
  kept_at_ = BootClock::now();
  return view;
}

Record Ordered::record_of(const lock::Request& request, Record::State state) const {
  const auto ttl = state == Record::State::waits ? std::max(request.ttl, waiter_lease) : request.ttl;
  return {.state = state, .since_us = store_->now_us(), .ttl = ttl, .who = request.who};
}

Result<std::optional<View>> Ordered::confirm(Record record, Wait wait) {
  auto view = store_->confirm(record, wait);
  if (view) record_.reset();
  if (view && *view) record_ = std::move(record);
  if (view && *view) kept_at_ = BootClock::now();
  return view;
}

Result<std::optional<View>> Ordered::take_up(const lock::Request& request, Wait wait) {
  auto record = record_of(request, Record::State::holds);
  if (record_ && record_->state == Record::State::holds) record.since_us = record_->since_us;
  return confirm(std::move(record), wait);
}

// Where those have gone that were ahead, it is our turn, and the confirmation that we need shows whether it is.
Result<std::optional<View>> Ordered::look_again(const lock::Request& request, Wait wait) {
  if (record_->state == Record::State::holds || (!is_unclear_ && holds(mode_, ahead_))) return take_up(request, wait);
  if (!RLOCK_TRY(keep(wait))) return std::nullopt;
  auto view = RLOCK_TRY(store_->look(wait));
  if (!view) record_.reset();
  return view;
}

Duration Ordered::keep_pause() const { return lock::renewal_pause(std::min(record_->ttl, store_->max_lease())); }

// false: our entry is gone.
Result<bool> Ordered::keep(Wait wait) {
  if (BootClock::now() < kept_at_ + keep_pause()) return true;
  if (!RLOCK_TRY(store_->keep(wait))) record_.reset();
  kept_at_ = BootClock::now();
  return record_.has_value();
}

// What a look costs the store grows with the length of the queue, and nothing of ours is near.
bool Ordered::is_far() const {
  return record_ && watched_ && !is_unclear_ && busy_.rank >= near_rank &&
         BootClock::now() < looked_at_ + std::min<Duration>(look_of_far_rank * busy_.rank, farthest_look);
}

Result<lock::Acquired> Ordered::acquire(const lock::Request& request, lock::Queue queue, Wait wait) {
  wait = bounded(wait);
  mode_ = request.mode;
  if (is_far() && RLOCK_TRY(keep(wait))) {
    busy_.look_at = next_look();
    return busy_;
  }
  while (true) {
    auto view = record_ ? RLOCK_TRY(look_again(request, wait)) : RLOCK_TRY(enter(request, queue, wait));
    if (!view && !record_ && queue == lock::Queue::no) return RLOCK_TRY(busy_of(request, wait));
    if (wait.is_over()) return base::fail(ErrorCode::unreachable, "no answer from " + name() + " in time");
    if (!view) continue;  // our entry is gone: we come back at the end of the queue
    if (const auto* other = conflicting(request.mode, view->ahead)) {
      (void)RLOCK_TRY(store_->leave({}, wait));
      record_.reset();
      return std::unexpected(other_mode(request, *other));
    }
    looked_at_ = BootClock::now();
    is_unclear_ = false;
    ahead_ = view->ahead;
    if (!holds(request.mode, ahead_)) return RLOCK_TRY(wait_behind(request, queue, wait));
    // Those behind us end an entry that does not say that it has taken the lock up.
    const bool is_proof = view->sent != Instant{};
    if (is_proof && record_->state == Record::State::holds) return granted(request, *view, wait);
  }
}

Result<lock::Acquired> Ordered::granted(const lock::Request& request, const View& view, Wait wait) {
  if (request.once > Duration::zero()) {
    if (auto done = RLOCK_TRY(succeeded(request, wait))) return std::move(*done);
  }
  watched_.reset();
  return lock::Grant{.fence = view.fence, .counts_from = view.sent};
}

Result<std::optional<lock::AlreadySucceeded>> Ordered::succeeded(const lock::Request& request, Wait wait) {
  const auto queue = RLOCK_TRY(queue_of(request, 0, wait));
  if (!queue.last_run) return std::nullopt;
  auto last = lock::LastRun::decode(*queue.last_run);
  if (!last || !last->succeeded_us) return std::nullopt;
  lock::Inspection now;
  now.now_us = store_->now_us();
  const auto ago = now.age(*last->succeeded_us);
  if (ago >= request.once) return std::nullopt;
  return lock::AlreadySucceeded{.ago = ago, .last_run = std::move(last)};
}

Result<Queue> Ordered::queue_of(const lock::Request& request, std::int64_t most, Wait wait) {
  auto queues = RLOCK_TRY(store_->read({&request.name.wire_key, 1}, most, TimesLeft::no, wait));
  if (queues.size() != 1) return base::fail(ErrorCode::internal, name() + ": the answer makes no sense");
  return std::move(queues.front());
}

Result<lock::Busy> Ordered::wait_behind(const lock::Request& request, lock::Queue queue, Wait wait) {
  if (queue == lock::Queue::no) return busy_of(request, wait);
  const auto rank = rank_behind(ahead_);
  // Whoever says that it holds, and does not, would never be taken for dead.
  if (record_->state == Record::State::holds) {
    (void)RLOCK_TRY(confirm(record_of(request, Record::State::waits), wait));
  }
  RLOCK_TRY(watch(whom_to_watch(mode_, ahead_), wait));
  // To read the head costs the store as much as all of the queue, and far back it is not our affair.
  auto busy = rank >= near_rank && busy_.rank >= near_rank ? busy_ : RLOCK_TRY(busy_of(request, wait));
  busy.rank = rank;
  busy.ticket = record_ ? record_->since_us : 0;
  busy_ = std::move(busy);
  busy_.look_at = next_look();
  return busy_;
}

Result<void> Ordered::watch(const Watched& watched, Wait wait) {
  watched_.reset();
  RLOCK_TRY(store_->watch(watched, wait));
  watched_ = watched;
  return {};
}

Result<lock::Busy> Ordered::busy_of(const lock::Request& request, Wait wait) {
  const auto heads = static_cast<std::int64_t>(std::max<std::size_t>(holders_in(ahead_), 1));
  const auto queue = RLOCK_TRY(queue_of(request, heads, wait));
  lock::Busy busy{.holder_ttl = Duration::zero()};
  if (queue.first.empty()) return busy;
  const auto& first = queue.first.front();
  busy.holder = lock_record(first);
  if (first.record) busy.holder_ttl = first.record->ttl;
  if (record_) RLOCK_TRY(claim(request.token, queue, wait));
  return busy;
}

Result<void> Ordered::claim(const std::string& token, const Queue& queue, Wait wait) {
  auto heads = queue.first;
  heads.resize(holders_in(std::span<const Listed>(heads)));
  std::erase_if(heads, [&](const Listed& head) { return head.entry.token == token; });
  const auto lapsed = claims_.lapsed(heads);
  if (lapsed.empty()) return {};
  (void)RLOCK_TRY(store_->remove(lapsed, wait));
  claims_.moved();
  return {};
}

// When to look again if nothing is told.
Instant Ordered::next_look() const {
  const auto rank = busy_.rank;
  auto pause = rank < watchers ? usual_look : nearest_look + look_of_near_rank * (rank - watchers);
  if (record_) pause = std::min(pause, keep_pause());
  return std::min(BootClock::now() + jittered(pause), look_at_claim());
}

// Who ends a lapsed claim is not to be the whole queue at once.
Instant Ordered::look_at_claim() const {
  const auto at = claims_.next();
  return at == base::never ? at : at + claim_of_rank * std::clamp<std::int64_t>(busy_.rank, 0, near_rank);
}

// A waiter whose turn it is not leaves those ahead the time to take the lock up.
Result<lock::Event> Ordered::drain() {
  auto told = store_->drain();
  if (!told) watched_.reset();
  if (!told) return std::unexpected(std::move(told).error());
  if (told->gone.empty() && !told->is_unclear) return lock::Event{};
  const auto has_gone = [&](const Entry& entry) {
    return std::ranges::find(told->gone, entry.token) != told->gone.end();
  };
  std::erase_if(ahead_, has_gone);
  is_unclear_ |= told->is_unclear || !watched_ || watched_->whom != Watched::Whom::all;
  const bool may_hold = is_unclear_ || holds(mode_, ahead_);
  if (!may_hold) claims_.moved();
  return lock::Event{.granted = may_hold, .touched = is_to_tell_, .look_at = may_hold ? base::never : look_at_claim()};
}

}  // namespace rlock::ordered
