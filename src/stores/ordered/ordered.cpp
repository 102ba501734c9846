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

// The entry of a waiter outlives a member that is lost, however short the ttl: with it the place would be gone. To keep
// it is most of what waiting costs the store.
constexpr Duration waiter_lease = 120s;
// Waiters this near look often: where all ahead are frozen, nobody else finds that a claim has lapsed.
constexpr std::int64_t near_rank = 40;
constexpr Duration usual_pause = 5s;
constexpr Duration nearest_pause = 1s;
constexpr Duration pause_of_near_rank = 100ms;
constexpr Duration pause_of_far_rank = 1s;
// A look at all ahead costs the store as much as they are many. Where nothing is told, it serves those who want to know
// how many they are: faster than this for each of them, they all have had their turn.
constexpr Duration least_rest = 2min;
constexpr Duration rest_of_rank = 2s;
// A first waiter whose member is silent asks another one, before its turn passes.
constexpr Duration max_try_of_first = 1s;
constexpr std::size_t max_holders_seen = 16;
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
  kept_alive_at_ = BootClock::now();
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
  if (view && *view) kept_alive_at_ = BootClock::now();
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
  if (!RLOCK_TRY(keep_alive(wait))) return std::nullopt;
  auto view = RLOCK_TRY(store_->look(wait));
  if (!view) record_.reset();
  return view;
}

// For how long our entry is kept at a time.
Duration Ordered::lease_of_waiter() const { return std::min(record_->ttl, store_->max_lease()); }

// false: our entry is gone. Whoever looks at the pace of next_look() is in time.
Result<bool> Ordered::keep_alive(Wait wait) {
  if (BootClock::now() < kept_alive_at_ + lock::renewal_pause(lease_of_waiter())) return true;
  if (!RLOCK_TRY(store_->keep_alive(wait))) record_.reset();
  kept_alive_at_ = BootClock::now();
  return record_.has_value();
}

bool Ordered::is_near() const { return busy_.rank < near_rank; }

// Our turn comes when those end who hold, of which a watch tells the first waiters alone; so others that are near see
// for themselves. Who is far sees whether it still is.
void Ordered::rest_behind(std::span<const Listed> heads) {
  resting_behind_.clear();
  if (!is_near()) {
    const auto at = std::max<std::int64_t>(std::ssize(ahead_) - near_rank, 0);
    if (!ahead_.empty()) resting_behind_.push_back(ahead_[static_cast<std::size_t>(at)]);
    return;
  }
  const auto waits = [](const Listed& head) { return head.record && head.record->state == Record::State::waits; };
  if (heads.size() > max_holders_seen || std::ranges::any_of(heads, waits)) return;
  for (const auto& head : heads) resting_behind_.push_back(head.entry);
}

bool Ordered::may_rest() const {
  return record_ && watched_ && !is_unclear_ && !resting_behind_.empty() && claims_.next() == base::never &&
         BootClock::now() < looked_at_ + std::max<Duration>(rest_of_rank * busy_.rank, least_rest);
}

// Whether nothing has happened that concerns us.
Result<bool> Ordered::rests(Wait wait) {
  if (!may_rest()) return false;
  if (busy_.rank < watchers) wait = wait.at_most(BootClock::now() + max_try_of_first);
  auto stand = store_->stand(resting_behind_, wait);
  is_unclear_ |= !stand || !*stand;
  return stand;
}

Result<lock::Acquired> Ordered::acquire(const lock::Request& request, lock::Queue queue, Wait wait) {
  wait = bounded(wait);
  mode_ = request.mode;
  if (RLOCK_TRY(rests(wait)) && RLOCK_TRY(keep_alive(wait))) {
    busy_.look_at = next_look();
    return busy_;
  }
  while (true) {
    auto view = record_ ? RLOCK_TRY(look_again(request, wait)) : RLOCK_TRY(enter(request, queue, wait));
    if (!view && !record_ && queue == lock::Queue::no) {
      if (auto done = RLOCK_TRY(succeeded(request, wait))) return std::move(*done);
      // Whoever goes on to wait is told then.
      if (!request.is_only_try) return lock::Busy{.holder_ttl = Duration::zero()};
      return RLOCK_TRY(busy_of(request, wait));
    }
    if (wait.is_over()) return base::fail(ErrorCode::unreachable, "no answer from " + name() + " in time");
    if (!view) {  // our entry is gone: we come back at the end of the queue
      if (RLOCK_TRY(store_->was_released(request.token, wait))) return std::unexpected(lock::released_before());
      continue;
    }
    if (const auto* other = conflicting(request.mode, view->ahead)) {
      (void)RLOCK_TRY(store_->leave({}, wait));
      record_.reset();
      return std::unexpected(other_mode(request, *other));
    }
    looked_at_ = BootClock::now();
    is_unclear_ = false;
    ahead_ = view->ahead;
    if (auto done = RLOCK_TRY(succeeded(request, wait))) return std::move(*done);
    if (!holds(request.mode, ahead_)) {
      if (queue == lock::Queue::no) return RLOCK_TRY(busy_of(request, wait, std::move(view->head)));
      return RLOCK_TRY(wait_behind(request, *std::move(view), wait));
    }
    // Those behind us end an entry that does not say that it has taken the lock up.
    const bool is_proof = view->sent != Instant{};
    if (!is_proof || record_->state != Record::State::holds) continue;
    watched_.reset();
    return lock::Grant{.fence = view->fence, .counts_from = view->sent};
  }
}

Result<std::optional<lock::AlreadySucceeded>> Ordered::succeeded(const lock::Request& request, Wait wait) {
  if (request.once == Duration::zero()) return std::nullopt;
  const auto queue = RLOCK_TRY(queue_of(request, 0, wait));
  if (!queue.last_run) return std::nullopt;
  auto last = lock::LastRun::decode(*queue.last_run);
  if (!last || !last->succeeded_us || last->is_forgotten(store_->now_us())) return std::nullopt;
  lock::Inspection now;
  now.now_us = store_->now_us();
  const auto ago = now.age(*last->succeeded_us);
  if (ago >= request.once) return std::nullopt;
  return lock::AlreadySucceeded{.ago = ago, .last_run = std::move(last)};
}

Result<Queue> Ordered::queue_of(const lock::Request& request, std::int64_t most, Wait wait) {
  auto queues = RLOCK_TRY(store_->read({&request.name.wire_key, 1}, most, TimesLeft::no, wait));
  if (queues.size() != 1) return base::fail(ErrorCode::internal, name() + ": the answer makes no sense");
  auto& queue = queues.front();
  if (queue.unread) return std::unexpected(*std::move(queue.unread));
  return std::move(queue);
}

Result<lock::Busy> Ordered::wait_behind(const lock::Request& request, View view, Wait wait) {
  const auto rank = rank_behind(ahead_) + view.further;
  // Whoever says that it holds, and does not, would never be taken for dead.
  if (record_->state == Record::State::holds) {
    (void)RLOCK_TRY(confirm(record_of(request, Record::State::waits), wait));
  }
  RLOCK_TRY(watch(whom_to_watch(mode_, ahead_), wait));
  const bool was_near = is_near();
  busy_.rank = rank;
  rest_behind({});
  // To read the head costs the store as much as all of the queue, and far back it is not our affair.
  auto busy = busy_;
  if (was_near || is_near() || view.head) busy = RLOCK_TRY(busy_of(request, wait, std::move(view.head)));
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

// head: as it was read along just now.
Result<lock::Busy> Ordered::busy_of(const lock::Request& request, Wait wait, std::optional<Listed> head) {
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(holders_in(ahead_), 1));
  std::vector<Listed> heads;
  if (head && count == 1) {
    heads.push_back(*std::move(head));
  } else {
    heads = RLOCK_TRY(queue_of(request, count, wait)).first;
  }
  lock::Busy busy{.holder_ttl = Duration::zero()};
  if (heads.empty()) return busy;
  const auto& first = heads.front();
  if (!record_ && conflicting(request.mode, {&first.entry, 1}) != nullptr) {
    return std::unexpected(other_mode(request, first.entry));
  }
  busy.holder = lock_record(first);
  if (first.record) busy.holder_ttl = first.record->ttl;
  heads.resize(holders_in(std::span<const Listed>(heads)));
  if (!record_ || !is_near()) return busy;
  rest_behind(heads);
  RLOCK_TRY(claim(request.token, std::move(heads), wait));
  return busy;
}

Result<void> Ordered::claim(const std::string& token, std::vector<Listed> heads, Wait wait) {
  std::erase_if(heads, [&](const Listed& head) { return head.entry.token == token; });
  const auto lapsed = claims_.lapsed(heads);
  if (lapsed.empty()) return {};
  (void)RLOCK_TRY(store_->remove(lapsed, wait));
  claims_.moved();
  return {};
}

// When to look again if nothing is told.
Instant Ordered::next_look() const {
  auto next = pause();
  if (record_) next = std::min(next, lease_of_waiter() * 3 / 5);
  return std::min(BootClock::now() + jittered(next), look_at_claim());
}

Duration Ordered::pause() const {
  if (!is_near()) return pause_of_far_rank * busy_.rank;
  // A watch tells the first ones what they would look for; to see is cheap.
  if (busy_.rank < watchers) return resting_behind_.empty() ? usual_pause : nearest_pause;
  return nearest_pause + pause_of_near_rank * (busy_.rank - watchers);
}

// Who ends a lapsed claim is not to be the whole queue at once.
Instant Ordered::look_at_claim() const {
  const auto at = claims_.next();
  return at == base::never ? at : at + claim_of_rank * std::clamp<std::int64_t>(busy_.rank, 0, near_rank);
}

// A waiter whose turn it is not leaves those ahead the time to take the lock up.
Result<lock::Event> Ordered::drain() {
  auto changes = store_->drain();
  if (!changes) watched_.reset();
  if (!changes) return std::unexpected(std::move(changes).error());
  if (changes->gone.empty() && !changes->is_unclear) return lock::Event{};
  const auto has_gone = [&](const Entry& entry) {
    return std::ranges::find(changes->gone, entry.token) != changes->gone.end();
  };
  std::erase_if(ahead_, has_gone);
  is_unclear_ |= changes->is_unclear || !watched_ || watched_->whom != Watched::Whom::all;
  const bool may_hold = is_unclear_ || holds(mode_, ahead_);
  if (!may_hold) claims_.moved();
  return lock::Event{.granted = may_hold, .touched = is_to_tell_, .look_at = may_hold ? base::never : look_at_claim()};
}

}  // namespace rlock::ordered
