#include "lock/acquire.hpp"

#include <algorithm>
#include <charconv>
#include <random>

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
// Behind the head, these ranks watch the holder's lease too, in case the head is dead.
constexpr std::int64_t watching_ranks = 3;
constexpr Duration rank_delay = 100ms;
// Giving back must not hold up one who was told to go.
constexpr Duration abandon_limit = 500ms;
constexpr Duration patience_least = 10s;
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
  // Whoever gives up in his own time can wait for the server's word; an outage must not look like busy.
  const auto left = abandon(lease ? client_.session().bounded(base::never) : BootClock::now() + abandon_limit);
  if (lease && !left) return std::unexpected(left.error());
  return lease;
}

// An enter may have been granted or queued that we know nothing of, or no longer want. The leave also
// voids the token, in case that enter is still on its way.
base::Result<void> Acquisition::abandon(Instant until) {
  if (!entangled_ || client_.session().sent_at() == Instant{}) return {};
  base::PlainPoller plain;
  auto left = client_.leave(token_, terms_.ttl, Force::no, until, plain);
  if (!left) return std::unexpected(left.error());
  return {};
}

void Acquisition::tell_of(const NotHeld& lock) const {
  base::log_debug("waiting for " + client_.names().lock + " behind " + std::to_string(lock.rank) + " others; held by " +
                  (lock.holder ? lock.holder->who.summary() : "another program than rlock"));
}

// A lease that is over, or nearly, when we hear of it is worth nothing: ask again, which extends it.
Result<std::optional<Lease>> Acquisition::step(Entered entered) {
  heard_ = BootClock::now();
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
    met_ = std::move(*not_held);
    return std::nullopt;
  }
  return base::fail(ErrorCode::internal, "the token has been used before");
}

Result<std::optional<Lease>> Acquisition::attempt(std::optional<Duration> wait) {
  const auto give_up = wait ? BootClock::now() + *wait : base::never;
  const auto until = client_.session().bounded(base::never);
  entangled_ = true;
  auto entered = client_.enter(token_, terms_.ttl, std::nullopt, Wake::push, who_, until, poller_);
  const bool unheard =
      !entered && entered.error().code == ErrorCode::unreachable && client_.session().sent_at() != Instant{};
  if (unheard) {
    // It was there and broke off: the same question once more tells what became of the first.
    entered = client_.enter(token_, terms_.ttl, std::nullopt, Wake::push, who_, until, poller_);
  }
  if (!entered) return std::unexpected(entered.error());
  auto lease = step(std::move(*entered));
  if (!lease || *lease) return lease;
  entangled_ = too_late_ > 0 || unheard;
  if (too_late_ == 0 && BootClock::now() >= give_up) return std::nullopt;
  entangled_ = true;
  return queue_up(give_up);
}

Result<Entered> Acquisition::ask(Instant give_up) {
  // Not cut short by give_up alone: a server that hangs is unreachable, not busy.
  const auto until = std::max(give_up, BootClock::now() + Duration(1s));
  if (wake_ == Wake::push && (ticket_ == 0 || !client_.session().is_open())) {
    return client_.enter_subscribed(token_, terms_.ttl, ticket_, wake_, who_, until, poller_);
  }
  return client_.enter(token_, terms_.ttl, ticket_, wake_, who_, until, poller_);
}

Result<std::optional<Lease>> Acquisition::queue_up(Instant give_up) {
  const Duration patience = std::max(terms_.ttl, patience_least);
  while (true) {
    auto entered = ask(give_up);
    if (!entered) {
      const auto code = entered.error().code;
      const bool may_pass = code == ErrorCode::unreachable || code == ErrorCode::unready;
      const auto now = BootClock::now();
      if (!may_pass || now >= heard_ + patience || now >= give_up) return std::unexpected(entered.error());
      base::log_debug(entered.error().message + "; trying again");
      if (poller_.wait({}, now + jittered(poll_least, poll_jitter)) == Readiness::interrupted) {
        return base::fail(ErrorCode::interrupted, "interrupted");
      }
      continue;
    }
    auto lease = step(std::move(*entered));
    if (!lease || *lease) return lease;
    auto again = wait_for_turn(give_up);
    if (!again) return std::unexpected(again.error());
    if (!*again) return std::nullopt;
  }
}

// When to ask though no message came.
Instant Acquisition::next_look() const {
  const auto now = BootClock::now();
  auto look = now + jittered(poke_every, poke_jitter);
  if (!met_) return now;
  const auto rank = std::max<std::int64_t>(met_->rank, 0);
  if (met_->holder_ttl && rank < watching_ranks)
    look = std::min(look, now + *met_->holder_ttl + 1ms + rank * rank_delay);
  if (wake_ == Wake::poll) {
    // The further behind, the slower: a long queue must not load the server.
    look = std::min(look, now + jittered(poll_least, poll_jitter) * std::min<std::int64_t>(1 + rank / 4, 10));
  } else if (met_->holder_is_foreign && rank == 0) {
    look = std::min(look, now + jittered(poll_least, poll_jitter));
  }
  return look;
}

// true: ask again; false: the time to wait is over.
Result<bool> Acquisition::wait_for_turn(Instant give_up) {
  auto look = next_look();
  auto& session = client_.session();
  while (true) {
    auto messages = session.pushes();
    if (!messages) return true;  // broken: asking again connects anew
    for (const auto& message : *messages) {
      if (message.items.size() != 3 || message.items[0].text != "message") continue;
      const std::string_view text = message.items[2].text;
      if (text == "g") return true;
      int claim_ms = 0;
      if (text.starts_with("h ") &&
          std::from_chars(text.data() + 2, text.data() + text.size(), claim_ms).ec == std::errc{}) {
        look = std::min(look, BootClock::now() + Duration(claim_ms + 1));
      }
    }
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
