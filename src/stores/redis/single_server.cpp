#include "stores/redis/single_server.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "base/random_seed.hpp"
#include "stores/redis/heartbeat.hpp"

namespace rlock::redis {

using namespace std::chrono_literals;
using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::Instant;
using base::Result;
using base::Wait;

namespace {

// How often a waiter polls that gets no messages.
constexpr Duration min_poll = 50ms;
constexpr Duration poll_jitter = 100ms;
// When a lease ends, each waiter looks this much later than the one before it, so that not all ask at once.
constexpr Duration rank_delay = 10ms;
// The first waiters track the lock's key (common.lua, WATCHERS) once the queue has not moved for `settling`. After a
// change of the key they wait for `touch_delay` before they look: by then most hand-offs are confirmed.
constexpr std::int64_t watchers = 3;
constexpr Duration settling = 500ms;
constexpr Duration touch_delay = 200ms;
constexpr Duration touch_delay_of_rank = 150ms;
// After a flush, or when the queue was lost, all waiters come back in their order.
constexpr Duration flush_delay_of_rank = 30ms;
constexpr Duration return_delay_of_rank = 1ms;
// A waiter that could hold beside the holders, but for those ahead of it, looks this often whether they are still
// there: if they die, no message comes.
constexpr Duration look_ahead_every = 1s;
// After so many looks that messages asked for, and that found nothing new, they are believed less: a table of tracked
// keys that is too small tells of changes that are none, and others may publish on our channel too.
constexpr int max_vain_looks = 8;
// Then between two looks. Shorter than a claim.
constexpr Duration vain_pause = 500ms;
// By the same end of its lease a holder is known as the same, however long the answer took.
constexpr Duration same_end{10};
// A proxy that does not know SUBSCRIBE or HELLO closes the connection: after so many times in a row, poll.
constexpr int max_hung_up = 2;

Duration jittered(Duration base, Duration jitter) {
  static std::minstd_rand random{base::random_seed()};
  return base + Duration(std::uniform_int_distribution<Duration::rep>(0, jitter.count())(random));
}

bool is_same(const lock::Record& one, const lock::Record& other) {
  return one.fence == other.fence && one.since_us == other.since_us;
}

// Whether the second of two looks has found what the first one did. end: when the lease of the holder ends.
bool is_same(const lock::Busy& one, Instant end, const lock::Busy& other, Instant other_end) {
  const bool is_same_holder = one.holder && other.holder ? is_same(*one.holder, *other.holder)
                                                         : one.holder.has_value() == other.holder.has_value();
  return is_same_holder && one.rank == other.rank && one.kept_for.has_value() == other.kept_for.has_value() &&
         std::chrono::abs(end - other_end) <= same_end;
}

}  // namespace

// Whether the last request, begun when the session had sent at `before`, went out and was not answered: it may have
// been carried out.
template <class T>
bool SingleServer::is_unanswered(const Result<T>& result, Instant before) const {
  return !result && result.error().code == ErrorCode::unreachable && protocol_.session().sent_at() != before;
}

Result<lock::Acquired> SingleServer::acquire(const lock::Request& request, lock::Queue queue, Wait wait) {
  auto& session = protocol_.session();
  wait = session.bounded(wait);
  protocol_.attend(request);
  mode_ = request.mode;
  queued_at(request.ticket);
  const auto before = session.sent_at();
  const bool might_hold = may_hold_;
  auto answer = queue == lock::Queue::no ? protocol_.acquire(request, std::nullopt, Wake::push, wait)
                                         : acquire_queueing(request, wait);
  if (session.sent_at() != before) may_hold_ = true;
  if (!answer) {
    unanswered_ |= is_unanswered(answer, before);
    is_lost_ |= session.sent_at() != before;
    return std::unexpected(std::move(answer).error());
  }
  if (std::holds_alternative<lock::AlreadySucceeded>(*answer)) may_hold_ = might_hold;
  auto acquired = RLOCK_TRY(to_acquired(std::move(*answer), request));
  if (std::holds_alternative<lock::Grant>(acquired)) RLOCK_TRY(replicate(request, wait));
  return acquired;
}

// After a write of this connection.
Result<void> SingleServer::replicate(const lock::Request& request, Wait wait) {
  if (request.replicas == 0) return {};
  const auto have = RLOCK_TRY(protocol_.replicated(request, wait));
  if (have >= request.replicas) return {};
  return base::fail(ErrorCode::unready, name() + ": only " + std::to_string(have) + " of " +
                                            std::to_string(request.replicas) + " replicas have it (--replicas)");
}

// Not cut short by the end of the wait alone: a server that hangs is unreachable, not busy.
Result<Answer> SingleServer::acquire_queueing(const lock::Request& request, Wait wait) {
  auto& session = protocol_.session();
  const bool is_called = std::exchange(is_called_, false);
  if (wake_ == Wake::poll || protocol_.is_subscribed()) {
    // A waiter that was handed the lock need not watch it any more: asking for that would cost the hand-over a round
    // trip.
    const bool is_to_watch = wake_ != Wake::poll && is_first_ && !tracks_ && !is_called;
    if (is_to_watch) tracks_ = RLOCK_TRY(protocol_.track(wait));
    if (tracks_ == true && is_to_doubt()) {
      RLOCK_TRY(protocol_.untrack(wait));
      tracks_ = false;
    }
    auto answer = protocol_.acquire(request, ticket_, wake_, wait);
    // This connection broke too: it was not SUBSCRIBE that broke the others. A connection that still stands has not
    // subscribed, and a waiter that claims it has is taken for dead when its turn comes.
    const bool broke = !answer && answer.error().code == ErrorCode::unreachable;
    if (broke && std::exchange(hung_up_, 0) > 0) wake_ = best_wake_;
    const bool waits = answer && std::holds_alternative<NotHeld>(*answer);
    // Else the server has moved since, and this was said over a new connection.
    if (!waits || wake_ == Wake::poll || protocol_.is_subscribed()) return answer;
  }
  tracks_.reset();
  const auto before = session.sent_at();
  auto answer = protocol_.acquire_subscribed(request, ticket_, wake_, wait);
  const bool hung_up = is_unanswered(answer, before) && !wait.is_over();
  hung_up_ = hung_up ? hung_up_ + 1 : 0;
  if (hung_up_ >= max_hung_up) wake_ = Wake::poll;
  return answer;
}

Result<lock::Acquired> SingleServer::to_acquired(Answer answer, const lock::Request& request) {
  if (const auto* grant = std::get_if<lock::Grant>(&answer)) {
    held({.holder = lock::Standing::Holder::us,
          .fence = grant->fence,
          .counts_from = grant->counts_from,
          .run_id = grant->run_id});
    unanswered_ = true;  // if it is asked for again, only a new Grant shows that we still hold it
    return *grant;
  }
  if (auto* not_held = std::get_if<NotHeld>(&answer)) {
    saw(std::move(not_held->busy));
    const bool queues = not_held->ticket != 0;
    queued_at(not_held->ticket);
    is_first_ = busy_.rank >= 0 && busy_.rank < watchers;
    may_hold_ = queues || unanswered_;
    busy_.look_at = next_look();
    busy_.ticket = queues ? ticket_ : 0;
    return busy_;
  }
  if (auto* done = std::get_if<lock::AlreadySucceeded>(&answer)) return std::move(*done);
  if (const auto* other = std::get_if<OtherMode>(&answer)) {
    may_hold_ = ticket_ != 0 || unanswered_;
    return base::fail(ErrorCode::configuration, request.name.key + " is in use with " + other->mode.option() +
                                                    ", which does not go together with " + request.mode.option() +
                                                    "; agree on one of them, or choose another KEY");
  }
  return base::fail(ErrorCode::internal, "the token was released before");
}

// From an answer to a look, and whether it was in vain.
void SingleServer::saw(lock::Busy busy) {
  looked_at_ = BootClock::now();
  const auto end = busy.holder_ttl ? looked_at_ + *busy.holder_ttl : base::never;
  const bool is_news = !is_same(busy_, std::exchange(holder_end_, end), busy, end);
  if (std::exchange(was_told_, false) || is_news) vain_looks_ = is_news ? 0 : vain_looks_ + 1;
  busy_ = std::move(busy);
}

// The earliest ticket ever seen counts: a late request of ours may have queued us again. 0: none.
void SingleServer::queued_at(std::int64_t ticket) {
  if (ticket != 0) ticket_ = ticket_ == 0 ? ticket : std::min(ticket_, ticket);
}

// From here on this server keeps our lock: another server in its place would not know it.
void SingleServer::held(lock::Standing standing) {
  auto& session = protocol_.session();
  session.pin();
  renewed_ = std::move(standing);
  renewed_on_ = session.connection();
  renewed_at_ = session.peer();
}

Result<lock::Standing> SingleServer::renew(const lock::Request& request, lock::Watch watch, Wait wait) {
  auto& session = protocol_.session();
  protocol_.attend(request);
  const auto before = session.sent_at();
  const bool watches = watches_on_ != 0 && watches_on_ == session.connection();
  if (watch == lock::Watch::no && watches) {
    watches_on_ = 0;
    RLOCK_TRY(protocol_.untrack(wait));
  }
  const bool asks_to_watch = watch == lock::Watch::yes && !watches && !std::exchange(watch_broke_, false);
  auto standing = asks_to_watch ? protocol_.watch_and_renew(request, wait) : protocol_.renew(request, wait);
  if (asks_to_watch) {
    watches_on_ = standing ? session.connection() : 0;
    // A proxy may hang up on what it does not know: the next try goes without.
    watch_broke_ = is_unanswered(standing, before);
  }
  // Where several may hold, others who were forgotten may be back already.
  const bool may_be_forgotten = standing && !standing->is_released &&
                                (standing->holder == lock::Standing::Holder::nobody ||
                                 (standing->holder == lock::Standing::Holder::other && request.mode.is_for_several()));
  if (may_be_forgotten && renewed_) standing = reclaim(request, wait, standing->holder);
  // It was the restart that broke the try before, not the question: ask again.
  const bool was_restarted = standing && renewed_ && !renewed_->run_id.empty() && standing->run_id != renewed_->run_id;
  if (was_restarted && watch == lock::Watch::yes && watches_on_ != session.connection()) {
    if (auto again = protocol_.watch_and_renew(request, wait)) {
      standing = std::move(again);
      watches_on_ = session.connection();
    }
  }
  if (standing && standing->holder == lock::Standing::Holder::us) {
    held(*standing);
    // The lease counts from here only where a failover would keep it: a replica that has not heard of the renewal lets
    // it end sooner.
    RLOCK_TRY(replicate(request, wait));
    // Also where only the reclaim of an earlier try, which went unanswered, can have found us.
    standing->is_reclaimed = std::exchange(reclaims_, false);
  }
  return standing;
}

// We do not hold the lock; others may. Without a fence nothing could tell whether somebody has held it meanwhile.
Result<lock::Standing> SingleServer::reclaim(const lock::Request& request, Wait wait, lock::Standing::Holder others) {
  if (renewed_->fence == 0) return lock::Standing{.holder = others};
  reclaims_ = true;
  const auto& peer = protocol_.session().peer();
  const bool is_other = peer != renewed_at_ && !peer.empty() && !renewed_at_.empty();
  return protocol_.reclaim(request, *renewed_, is_other ? Protocol::Server::other : Protocol::Server::same, wait);
}

Result<lock::Standing> SingleServer::check(const lock::Request& request, Wait wait) {
  protocol_.attend(request);
  return protocol_.check(request, wait);
}

Result<lock::Released> SingleServer::release(const lock::Request& request, lock::Force force, Wait wait) {
  // A server that restarted while the command ended may have forgotten the lock. If it can be reclaimed, nobody has had
  // it since, and it was not lost.
  if (renewed_ && protocol_.session().connection() != renewed_on_) {
    const auto standing = protocol_.renew(request, wait);
    const bool is_ours = standing && standing->holder == lock::Standing::Holder::us;
    const bool is_free = standing && standing->holder == lock::Standing::Holder::nobody;
    if (is_free || (standing && !is_ours && request.mode.is_for_several())) {
      (void)reclaim(request, wait, standing->holder);
    }
  }
  const auto before = protocol_.session().sent_at();
  auto released = protocol_.release(request, force, Tombstone::yes, wait);
  if (released && released->outcome != lock::ReleaseOutcome::released && release_unanswered_) {
    released->outcome = lock::ReleaseOutcome::unknown;
  }
  release_unanswered_ |= is_unanswered(released, before);
  return released;
}

Result<void> SingleServer::give_back(const lock::Request& request, Wait wait) {
  const auto before = protocol_.session().sent_at();
  const auto released = protocol_.release(request, lock::Force::no, Tombstone::no, wait);
  may_give_back_ = !released && protocol_.session().sent_at() != before;
  if (!released) return std::unexpected(released.error());
  may_hold_ = unanswered_ = is_lost_;
  return {};
}

Result<bool> SingleServer::raise(const lock::Request& request, std::uint64_t fence, Wait wait) {
  return protocol_.raise(request, fence, wait);
}

std::vector<pollfd> SingleServer::wait_fds() const {
  std::vector<pollfd> fds;
  for (const int fd : protocol_.session().fds()) fds.push_back({fd, POLLIN, 0});
  return fds;
}

Result<lock::Event> SingleServer::drain() {
  if (!protocol_.session().is_open()) return lock::Event{};
  const auto pushed = RLOCK_TRY(protocol_.pushed());
  const auto now = BootClock::now();
  is_called_ |= pushed.granted;
  lock::Event event{.granted = pushed.granted, .touched = pushed.touched || pushed.flushed};
  const auto look_in = [&](Duration in) { event.look_at = std::min(event.look_at, now + in); };
  if (pushed.look_in) {
    is_first_ = true;
    look_in(*pushed.look_in);
  }
  if (is_first_ && pushed.flushed) look_in(rank_share(flush_delay_of_rank));
  if (is_first_ && pushed.touched) {
    look_in(waits_for_foreign() ? Duration::zero() : touch_delay + rank_share(touch_delay_of_rank));
  }
  if (pushed.queue_lost) look_in(rank_share(return_delay_of_rank));
  if (pushed.moved) {
    protocol_.session().close();
    look_in(rank_share(return_delay_of_rank));
  }
  was_told_ |= event.granted || event.look_at != base::never;
  if (was_told_ && is_to_doubt()) {
    if (event.granted) event.look_at = now;
    event.granted = false;
    event.look_at = std::max(event.look_at, looked_at_ + vain_pause);
  }
  return event;
}

bool SingleServer::is_to_doubt() const { return vain_looks_ >= max_vain_looks; }

// `each` times our last known rank, but no longer than to the next heartbeat.
Duration SingleServer::rank_share(Duration each) const {
  return std::min<Duration>(each * std::max<std::int64_t>(busy_.rank, 0), heartbeat_pause(busy_.rank));
}

// First of the queue, under a holder that tells nobody when it releases: a library then takes the lock again within a
// millisecond, if it wants to.
bool SingleServer::waits_for_foreign() const { return busy_.holder_is_foreign && busy_.rank == 0; }

// When to ask again if no message comes.
Instant SingleServer::next_look() const {
  const auto now = BootClock::now();
  const auto pause = heartbeat_pause(busy_.rank);
  auto look = now + jittered(pause, heartbeat_jitter(pause));
  if (busy_.holder_ttl) look = std::min(look, now + *busy_.holder_ttl + 1ms + rank_share(rank_delay));
  if (wake_ == Wake::poll || protocol_.is_moving()) {
    // The further behind, the slower: a long queue must not load the server.
    return std::min(look, now + jittered(min_poll, poll_jitter) * std::min<std::int64_t>(1 + busy_.rank / 4, 10));
  }
  const bool may_enter_beside = mode_.kind == lock::Mode::Kind::shared && busy_.holder && busy_.holder->mode == mode_;
  if (is_first_ && may_enter_beside) look = std::min(look, now + look_ahead_every);
  if (is_first_ && !tracks_) look = std::min(look, now + settling + rank_share(rank_delay));
  // A foreign holder sends no message when it releases; only client tracking would.
  if (waits_for_foreign() && !tracks_) return now;
  if (waits_for_foreign() && !*tracks_) look = std::min(look, now + jittered(min_poll, poll_jitter));
  return look;
}

}  // namespace rlock::redis
