#include "stores/redis/waiter.hpp"

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
constexpr int max_poll_factor = 10;
static_assert(max_poll_factor * (min_poll + poll_jitter) < constants::claim_poll);
// When a lease ends, each waiter looks this much later than the one before it, so that not all ask at once.
constexpr Duration rank_delay = 10ms;
// After a change of the key that the first waiters track they wait for this long before they look: by then most
// hand-offs are confirmed.
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
// Then between two looks.
constexpr Duration vain_pause = 500ms;
static_assert(vain_pause < constants::claim);
// A lease whose end moved by no more is the same.
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
// slack: by which the two ends may differ all the same.
bool is_same(const lock::Busy& one, Instant end, const lock::Busy& other, Instant other_end, Duration slack) {
  const bool is_same_holder = one.holder && other.holder ? is_same(*one.holder, *other.holder)
                                                         : one.holder.has_value() == other.holder.has_value();
  return is_same_holder && one.rank == other.rank && one.young_for.has_value() == other.young_for.has_value() &&
         std::chrono::abs(end - other_end) <= slack;
}

}  // namespace

Result<Answer> Waiter::acquire(const lock::Request& request, Wait wait) {
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
  return subscribe_and_acquire(request, wait);
}

Result<Answer> Waiter::subscribe_and_acquire(const lock::Request& request, Wait wait) {
  tracks_.reset();
  const auto before = protocol_.session().sent_at();
  auto answer = protocol_.acquire_subscribed(request, ticket_, wake_, wait);
  const bool hung_up = protocol_.session().is_unanswered(answer, before) && !wait.is_over();
  hung_up_ = hung_up ? hung_up_ + 1 : 0;
  if (hung_up_ >= max_hung_up) wake_ = Wake::poll;
  return answer;
}

lock::Busy Waiter::saw(NotHeld not_held) {
  looked_at_ = BootClock::now();
  // The server said what is left some time ago, and the last time too.
  const auto look_took = std::chrono::ceil<Duration>(looked_at_ - protocol_.session().sent_at());
  const auto slack = same_end + std::max(look_took, std::exchange(look_took_, look_took));
  const auto end = not_held.busy.holder_ttl ? looked_at_ + *not_held.busy.holder_ttl : base::never;
  const bool is_news = !is_same(busy_, std::exchange(holder_end_, end), not_held.busy, end, slack);
  if (std::exchange(was_told_, false) || is_news) vain_looks_ = is_news ? 0 : vain_looks_ + 1;
  busy_ = std::move(not_held.busy);
  const bool queues = not_held.ticket != 0;
  queue_since(not_held.ticket);
  is_first_ = busy_.rank >= 0 && busy_.rank < constants::watchers;
  busy_.look_at = next_look();
  busy_.ticket = queues ? ticket_ : 0;
  return busy_;
}

void Waiter::queue_since(std::int64_t ticket) {
  if (ticket != 0) ticket_ = ticket_ == 0 ? ticket : std::min(ticket_, ticket);
}

lock::Event Waiter::event_of(const Pushed& pushed) {
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

bool Waiter::is_to_doubt() const { return vain_looks_ >= max_vain_looks; }

// `each` times our last known rank, but no longer than to the next heartbeat.
Duration Waiter::rank_share(Duration each) const {
  return std::min<Duration>(each * std::max<std::int64_t>(busy_.rank, 0), heartbeat_pause(busy_.rank));
}

// First of the queue, under a holder that tells nobody when it releases: a library then takes the lock again within a
// millisecond, if it wants to.
bool Waiter::waits_for_foreign() const { return busy_.holder_is_foreign && busy_.rank == 0; }

// When to ask again if no message comes.
Instant Waiter::next_look() const {
  const auto now = BootClock::now();
  const auto pause = heartbeat_pause(busy_.rank);
  auto look = now + jittered(pause, heartbeat_jitter(pause));
  if (busy_.holder_ttl) look = std::min(look, now + *busy_.holder_ttl + 1ms + rank_share(rank_delay));
  if (wake_ == Wake::poll || protocol_.is_moving()) {
    // The further behind, the slower: a long queue must not load the server.
    return std::min(
        look, now + jittered(min_poll, poll_jitter) * std::min<std::int64_t>(1 + busy_.rank / 4, max_poll_factor));
  }
  const bool may_enter_beside = mode_.kind == lock::Mode::Kind::shared && busy_.holder && busy_.holder->mode == mode_;
  if (is_first_ && may_enter_beside) look = std::min(look, now + look_ahead_every);
  if (is_first_ && !tracks_) look = std::min(look, now + constants::watch + rank_share(rank_delay));
  // A foreign holder sends no message when it releases; only client tracking would.
  if (waits_for_foreign() && !tracks_) return now;
  if (waits_for_foreign() && !*tracks_) look = std::min(look, now + jittered(min_poll, poll_jitter));
  return look;
}

}  // namespace rlock::redis
