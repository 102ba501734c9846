#include "lock/acquire.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "base/log.hpp"

namespace rlock::lock {

using namespace std::chrono_literals;
using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::Instant;
using base::Readiness;
using base::Result;

namespace {

// A waiter shows that it lives, and finds what a lost message would have told it, this often.
constexpr Duration poke_every = 5s;
constexpr Duration poke_jitter = 2s;
// How often one looks that nobody will wake.
constexpr Duration poll_least = 50ms;
constexpr Duration poll_jitter = 100ms;
// Who stands further behind looks later, by so much for each place: an end of a lease is no stampede.
constexpr Duration rank_delay = 100ms;
// The first of the queue track the lock's key (common.lua, WATCHERS): once the queue has stood for so long, not while
// it moves; and a touch is answered so much later, by when most hand-overs are over and done with.
constexpr std::int64_t watchers = 3;
constexpr Duration settling = 500ms;
constexpr Duration touch_delay = 200ms;
constexpr Duration touch_delay_of_rank = 150ms;
// After a flush, or where the queue was lost, all come back, in their order.
constexpr Duration flush_delay_of_rank = 30ms;
constexpr Duration return_delay_of_rank = 1ms;
// Giving back must not hold up one who has failed.
constexpr Duration abandon_limit = 500ms;
// How long a waiter without --wait puts up with a server that is away, at the least.
constexpr Duration patience_least = 10s;
// A connection that breaks sooner than this after its last answer died young.
constexpr Duration lives = 1s;
// From here on in the queue one's turn is not near.
constexpr std::int64_t far_back_rank = 16;
// A proxy that knows no SUBSCRIBE, or no HELLO, hangs up on it: after so many times in a row one polls.
constexpr int most_hung_up = 2;
constexpr int most_too_late = 3;

Duration jittered(Duration base, Duration jitter) {
  static std::minstd_rand random{std::random_device{}()};
  return base + Duration(std::uniform_int_distribution<Duration::rep>(0, jitter.count())(random));
}

}  // namespace

Result<std::optional<Lease>> Acquisition::acquire(std::optional<Duration> wait) {
  client_.session().greet_together();
  auto lease = attempt(wait);
  if (lease && *lease) return lease;
  // An outage must not look like busy: whoever gives up in his own time waits for the server's word. After an error the
  // server has had its time.
  const auto left = abandon(lease ? client_.session().bounded(base::never) : BootClock::now() + abandon_limit);
  if (lease && !left) return std::unexpected(left.error());
  return lease;
}

// An enter may have been granted or queued that we know nothing of, or no longer want. The leave also
// voids the token, in case that enter is still on its way. A signal, also one that came before, leaves it half a
// second.
base::Result<void> Acquisition::abandon(Instant until) {
  if (!entangled_ || client_.session().sent_at() == Instant{}) return {};
  base::Reprieve reprieve(poller_);
  RLOCK_TRY(redis::until_served(until, reprieve,
                                [&](Instant end) { return client_.leave(token_, Force::no, end, reprieve); }));
  return {};
}

void Acquisition::tell_of(const NotHeld& lock) const {
  base::log_debug("waiting for " + client_.names().lock + " behind " + std::to_string(lock.rank) + " others; held by " +
                  (lock.holder ? lock.holder->who.summary() : "another program than rlock"));
}

// A lease that is over, or nearly, when we hear of it is worth nothing: ask again, which extends it.
Result<std::optional<Lease>> Acquisition::step(Entered entered) {
  heard_ = BootClock::now();
  broken_since_.reset();
  if (const auto* held = std::get_if<Held>(&entered)) {
    if (heard_ < terms_.deadline(held->sent_at) - terms_.grace - terms_.kill_time) {
      return Lease{token_, held->fence, held->sent_at};
    }
    if (++too_late_ < most_too_late) return std::nullopt;
    return base::fail(ErrorCode::unready, client_.session().name() + " answers too slowly for this --ttl");
  }
  if (auto* not_held = std::get_if<NotHeld>(&entered)) {
    if (not_held->ticket != 0) {
      if (ticket_ == 0) tell_of(*not_held);
      // The earliest it ever had: a late enter of ours may have queued us anew.
      ticket_ = ticket_ == 0 ? not_held->ticket : std::min(ticket_, not_held->ticket);
    }
    is_first_ = not_held->rank >= 0 && not_held->rank < watchers;
    met_ = std::move(*not_held);
    return std::nullopt;
  }
  return base::fail(ErrorCode::internal, "the token has been used before");
}

Result<std::optional<Lease>> Acquisition::attempt(std::optional<Duration> wait) {
  const auto start = BootClock::now();
  const auto give_up = wait ? start + *wait : base::never;
  const auto limit = start + client_.session().timeout();
  entangled_ = true;
  bool unheard = false;
  const auto enter = [&] {
    const auto before = client_.session().sent_at();
    const auto until = std::max({wait ? give_up : limit, limit, BootClock::now() + redis::least_try});
    auto entered = client_.enter(token_, terms_.ttl, std::nullopt, Wake::push, who_, until, poller_);
    const bool sent = client_.session().sent_at() != before;
    if (!entered && entered.error().code == ErrorCode::unreachable && sent) unheard = true;
    return entered;
  };
  auto entered = enter();
  // It was there and broke off: the same question once more tells what became of the first.
  if (unheard && BootClock::now() < limit) entered = enter();
  while (!entered) {
    RLOCK_TRY(outlast(entered.error(), start, give_up));
    entered = enter();
  }
  auto lease = step(std::move(*entered));
  if (!lease || *lease) return lease;
  entangled_ = too_late_ > 0 || unheard;
  if (too_late_ == 0 && BootClock::now() >= give_up) return std::nullopt;
  entangled_ = true;
  return queue_up(give_up);
}

// Pauses after a try that began at `asked` and failed. Fails with that error when it will not pass, or when there is no
// patience left for it. Patience counts from the break, not from the last answer, which may be long ago.
Result<void> Acquisition::outlast(const base::Error& error, Instant asked, Instant give_up) {
  if (!redis::may_pass(error)) return std::unexpected(error);
  const auto timeout = client_.session().timeout();
  const bool served_before = heard_ != Instant{};
  if (!broken_since_) broken_since_ = asked;
  const auto patience = served_before ? std::max({terms_.ttl, patience_least, timeout}) : timeout;
  const auto end = give_up != base::never ? give_up : *broken_since_ + patience;
  if (BootClock::now() >= end) return std::unexpected(error);
  base::log_debug(error.message + "; trying again");
  return pause(end);
}

// After an outage all come back, to a server that may have too few connections for all. The holder has to be among the
// first, who renews or releases, and then whose turn is near.
Result<void> Acquisition::pause(Instant end) {
  const bool far_back = met_ && met_->rank >= far_back_rank;
  const auto again = BootClock::now() + backoff_.next() * (far_back ? 4 : 1);
  if (poller_.wait({}, std::min(again, end)) == Readiness::interrupted) return redis::interrupted();
  return {};
}

Result<Entered> Acquisition::ask(Instant give_up) {
  auto& session = client_.session();
  // Not cut short by give_up alone: a server that hangs is unreachable, not busy.
  const auto until = session.bounded(std::max(give_up, BootClock::now() + redis::least_try));
  if (wake_ == Wake::poll || (ticket_ != 0 && session.is_open())) {
    if (wake_ == Wake::push && is_first_ && !tracks_) tracks_ = RLOCK_TRY(client_.track(until, poller_));
    auto entered = client_.enter(token_, terms_.ttl, ticket_, wake_, who_, until, poller_);
    // It was not the subscribing that broke the connections.
    if (!entered && std::exchange(hung_up_, 0) > 0) wake_ = Wake::push;
    return entered;
  }
  tracks_.reset();
  const auto before = session.sent_at();
  auto entered = client_.enter_subscribed(token_, terms_.ttl, ticket_, wake_, who_, until, poller_);
  const bool hung_up = !entered && entered.error().code == ErrorCode::unreachable && session.sent_at() != before &&
                       BootClock::now() < until;
  hung_up_ = hung_up ? hung_up_ + 1 : 0;
  if (hung_up_ >= most_hung_up) wake_ = Wake::poll;
  return entered;
}

Result<std::optional<Lease>> Acquisition::queue_up(Instant give_up) {
  while (true) {
    const auto asked = BootClock::now();
    auto entered = ask(give_up);
    if (!entered) {
      RLOCK_TRY(outlast(entered.error(), asked, give_up));
      continue;
    }
    auto lease = step(std::move(*entered));
    if (!lease || *lease) return lease;
    const bool again = RLOCK_TRY(wait_for_turn(give_up));
    if (!again) return std::nullopt;
    if (client_.session().is_open()) continue;
    // A connection that lived gives no reason to be slow; one that breaks at each answer does.
    const auto now = BootClock::now();
    if (now >= give_up) return std::nullopt;
    if (now >= heard_ + lives) backoff_.reset();
    RLOCK_TRY(pause(give_up));
  }
}

// `each` for every place that stands before ours, as far as we know; little enough to come before the next poke.
Duration Acquisition::rank_share(Duration each) const {
  return std::min<Duration>(each * std::max<std::int64_t>(met_->rank, 0), poke_every);
}

// When to ask though no message came.
Instant Acquisition::next_look() const {
  const auto now = BootClock::now();
  if (!met_) return now;
  auto look = now + jittered(poke_every, poke_jitter);
  if (met_->holder_ttl) look = std::min(look, now + *met_->holder_ttl + 1ms + rank_share(rank_delay));
  if (wake_ == Wake::poll) {
    // The further behind, the slower: a long queue must not load the server.
    return std::min(look, now + jittered(poll_least, poll_jitter) * std::min<std::int64_t>(1 + met_->rank / 4, 10));
  }
  if (is_first_ && !tracks_) look = std::min(look, now + settling + rank_share(rank_delay));
  // Nobody tells of a foreign holder's end, unless the server does.
  if (met_->holder_is_foreign && met_->rank == 0 && !tracks_.value_or(false)) {
    look = std::min(look, now + jittered(poll_least, poll_jitter));
  }
  return look;
}

// true: ask again; false: the time to wait is over.
Result<bool> Acquisition::wait_for_turn(Instant give_up) {
  auto look = next_look();
  auto& session = client_.session();
  while (true) {
    const auto told = client_.told();
    if (!told || told->granted) return true;  // broken: asking again connects anew
    const auto now = BootClock::now();
    if (told->look_in) {
      is_first_ = true;
      look = std::min(look, now + *told->look_in);
    }
    if (is_first_ && told->flushed) look = std::min(look, now + rank_share(flush_delay_of_rank));
    if (is_first_ && told->touched) look = std::min(look, now + touch_delay + rank_share(touch_delay_of_rank));
    if (told->queue_lost) look = std::min(look, now + rank_share(return_delay_of_rank));
    pollfd readable{session.fd(), POLLIN, 0};
    switch (poller_.wait({&readable, 1}, std::min(look, give_up))) {
      case Readiness::interrupted:
        return base::fail(ErrorCode::interrupted, "interrupted");
      case Readiness::timed_out:
        return BootClock::now() < give_up;
      case Readiness::ready:
        break;
    }
  }
}

}  // namespace rlock::lock
