#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/text/token.hpp"
#include "base/wait/retry.hpp"
#include "lock/acquire.hpp"
#include "lock/part.hpp"

namespace rlock::lock {

using namespace std::chrono_literals;
using base::BootClock;
using base::Duration;
using base::Instant;
using base::Readiness;
using base::Result;

namespace {

// Leases that were granted so close together need no second look before the command starts.
constexpr Duration max_apart = 50ms;
// So many times in a row keys were lost soon, because they could not be renewed in time: it will not get better.
constexpr int max_late_rounds = 8;

}  // namespace

// Renews what is held already, whatever is waited for. Broken off, for good, when one of these is lost.
class MultiLock::RenewingPoller final : public base::Poller {
 public:
  RenewingPoller(MultiLock& keys, base::Poller& inner) : keys_(keys), inner_(inner) {}

  Readiness wait(std::span<pollfd> fds, Instant until) override {
    while (true) {
      keys_.renew_held();
      if (keys_.lost() != nullptr) return Readiness::interrupted;
      const base::Wait wait(std::min(until, keys_.next_renewal()), inner_);
      if (base::drive(keys_.calls(), fds, wait) == Readiness::interrupted) return Readiness::interrupted;
      if (std::ranges::any_of(fds, [](const pollfd& fd) { return fd.revents != 0; })) return Readiness::ready;
      if (BootClock::now() >= until) return Readiness::timed_out;
    }
  }

 private:
  MultiLock& keys_;
  base::Poller& inner_;
};

void MultiLock::renew_held() {
  const auto now = BootClock::now();
  for (auto& part : parts_) {
    if (!part->is_held()) continue;
    if (now >= part->deadline) part->lost = Ownership{};
    if (part->lost || part->call.is_running() || now < part->next_renewal) continue;
    if (part->error) base::log_debug("not renewed: " + part->request.name.key + ": " + part->error->message);
    part->renew(Watch::no, terms_, std::min(now + terms_.max_try(), part->deadline));
  }
}

Instant MultiLock::next_renewal() const {
  auto next = base::never;
  for (const auto& part : parts_) {
    if (part->is_held()) next = std::min(next, part->call.is_running() ? part->deadline : part->next_renewal);
  }
  return next;
}

Result<MultiLock::Outcome> MultiLock::acquire(Patience patience, base::Poller& poller, Observer* observer) {
  const auto give_up = patience.give_up;
  base::Backoff backoff(base::min_try / 20, base::min_try);
  int late_rounds = 0;
  while (true) {
    const auto began = BootClock::now();
    auto outcome = acquire_all(patience, poller, observer);
    if (outcome && *outcome == Outcome::held) return outcome;
    // An outage must not look like busy, see Acquisition::acquire().
    const bool is_answered = outcome && *outcome != Outcome::lost;
    const auto limit = is_answered ? parts_.front()->backend->timeout() : unasked_release_limit;
    // What was not acquired has been released, or been tried to (Part::is_left).
    if (std::ranges::any_of(parts_, [](const auto& part) { return part->is_held(); })) {
      auto released = release_acquired(std::min(BootClock::now() + limit, patience.end), poller);
      if (is_answered) RLOCK_TRY(std::move(released));
    }
    if (!outcome || is_answered) return outcome;

    const auto& part = *lost();
    concerns(part);
    if (part.origin == Part::Origin::held_around) return Outcome::lost;
    base::log_note("lost " + part.request.name.key + " while waiting for " + busy_key_ + "; beginning again");
    const auto now = BootClock::now();
    const bool is_late = now >= terms_.stop_at(part.deadline) && now < began + 3 * terms_.ttl;
    late_rounds = is_late ? late_rounds + 1 : 0;
    // Not busy, where nobody else holds any.
    if (late_rounds == max_late_rounds || (now >= give_up && !met_)) {
      return base::fail(base::ErrorCode::unready, part.backend->name() + " answers too slowly for this --ttl, or " +
                                                      part.request.name.key + " was deleted");
    }
    if (now >= give_up) return Outcome::busy;
    if (poller.wait({}, std::min(give_up, BootClock::now() + backoff.next())) == Readiness::interrupted) {
      return base::interrupted();
    }
    // Also where it waited: a connection that listens for the old token hears nothing of the new one.
    for (auto& each : parts_) {
      if (each->origin == Part::Origin::own) each->forget(open_(each->request.name));
    }
  }
}

// Outcome::lost: one of those that are held already, whoever acquired it.
Result<MultiLock::Outcome> MultiLock::acquire_all(Patience patience, base::Poller& poller, Observer* observer) {
  token_ = RLOCK_TRY(base::random_token());
  std::vector<Part*> in_order;
  for (auto& part : parts_) {
    if (part->origin != Part::Origin::own) continue;
    if (part->is_to_release()) part->forget(open_(part->request.name));
    in_order.push_back(part.get());
  }
  std::ranges::sort(in_order, {}, [](const Part* part) -> const std::string& { return part->request.name.wire_key; });
  RenewingPoller renewing(*this, poller);
  Instant waited_until{};
  for (auto* const part : in_order) {
    part->request.token = token_;
    busy_key_ = part->request.name.key;
    auto request = part->request;
    request.once = part->once;
    Acquisition acquisition(*part->backend, std::move(request), terms_,
                            parts_.size() == 1 ? poller : static_cast<base::Poller&>(renewing), observer);
    auto lease = acquisition.acquire(patience);
    met_ = acquisition.met();
    part->is_left = acquisition.is_left();
    if (lease && *lease) {
      part->hold(**lease, terms_);
      waited_until = met_ ? part->counts_from : std::max(waited_until, part->counts_from - max_apart);
    }
    if (lost() != nullptr) return Outcome::lost;
    if (!lease) return std::unexpected(std::move(lease).error());
    done_ = acquisition.done();
    if (!*lease) return done_ ? Outcome::done : Outcome::busy;
  }
  if (parts_.size() > 1) RLOCK_TRY(refresh(waited_until, patience.end, poller));
  return lost() != nullptr ? Outcome::lost : Outcome::held;
}

// All keys are held. Those that were acquired before the last wait are renewed: the command does not begin with a lease
// that somebody has deleted meanwhile, nor with one that is nearly over.
Result<void> MultiLock::refresh(Instant waited_until, Instant until, base::Poller& poller) {
  const auto start = BootClock::now();
  for (auto& part : parts_) {
    if (part->counts_from >= waited_until || part->call.is_running()) continue;
    part->renew(Watch::no, terms_, std::min({start + terms_.max_try(), part->deadline, until}));
  }
  while (is_any_running() && lost() == nullptr) {
    if (base::drive(calls(), {}, {base::never, poller}) == Readiness::interrupted) return base::interrupted();
  }
  const auto now = BootClock::now();
  for (auto& part : parts_) {
    if (now >= terms_.stop_at(part->deadline)) part->lost = Ownership{};
  }
  return {};
}

Result<void> MultiLock::release_acquired(Instant until, base::Poller& poller) {
  if (!is_left()) return {};
  base::ReleasePoller release_poller(poller);
  RLOCK_TRY(base::until_served(until, release_poller,
                               [&](Instant end) { return release({std::min(end, until), release_poller}); }));
  return {};
}

bool MultiLock::is_left() const {
  return std::ranges::any_of(parts_, [](const auto& part) { return part->is_to_release() && !part->released; });
}

}  // namespace rlock::lock
