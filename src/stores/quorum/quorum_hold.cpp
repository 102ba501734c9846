#include <algorithm>
#include <functional>
#include <utility>

#include "stores/quorum/quorum.hpp"

namespace rlock::quorum {

using namespace std::chrono_literals;
using base::BootClock;
using base::Duration;
using base::Instant;
using base::Result;
using base::Wait;

Result<lock::Ownership> Quorum::renew(const lock::Request& request, lock::Watch watch, Wait wait) {
  begin(request);
  const auto start = BootClock::now();
  if (renewing_since_ == Instant{}) renewing_since_ = start;
  // A client that holds the lock may win other votes, too. One that does not, or that does not know it since another
  // process acquired the lock, must not acquire it anew.
  const bool holds = votes(start) >= quorum_;
  for (auto& member : members_) {
    if (member->is_running()) {
      member->join_round();
    } else if (!holds || member->counts(start)) {
      member->renew(watch, wait.until());
    } else {
      member->acquire(lock::Queue::no, wait.until());
    }
  }
  stage_ = Stage::holding;
  // Answers to the tries before this one count, too: a server that takes longer than the others has answered one of
  // them.
  const auto is_renewed = [&](const Member& m) {
    return m.counts(BootClock::now()) && m.vote().counts_from >= renewing_since_;
  };
  const auto renewed = [&] { return count(is_renewed); };
  const auto lost = [&] {
    const auto now = BootClock::now();
    return count([&](const Member& m) {
      return !m.counts(now) && !m.is_running() && m.answer() != Member::Answer::failed && m.is_of_round();
    });
  };
  const auto may_try_again = [&] {
    return count([&](const Member& m) { return !m.is_running() && !is_renewed(m); }) > 0;
  };
  RLOCK_TRY(run_until(wait, [&] { return renewed() >= quorum_ || lost() > members_.size() - quorum_; }, may_try_again));
  const auto now = BootClock::now();
  if (lost() > members_.size() - quorum_) {
    // Another may be running only if it can have q votes.
    const auto others = count([&](const Member& m) { return !m.counts(now) && m.answer() == Member::Answer::held; });
    const bool is_taken = others > 0 && members_.size() - votes(now) >= quorum_ && others >= lost() - others;
    return not_held(is_taken ? lock::Ownership::Holder::other : lock::Ownership::Holder::nobody);
  }
  if (renewed() < quorum_) return unavailable();
  report_absent();
  renewing_since_ = {};
  if (asked_for_.fence == 0) asked_for_.fence = largest_fence(now);
  // What was won late has to know the fence too; nobody waits for it.
  for (auto& member : members_) {
    if (member->counts(now) && !member->knows_fence()) member->raise_fence(now + timeout_);
  }
  return lock::Ownership{
      .holder = lock::Ownership::Holder::us, .fence = asked_for_.fence, .counts_from = counts_from(now)};
}

Result<lock::Ownership> Quorum::check(const lock::Request& request, Wait wait) {
  begin(request);
  using Holder = lock::Ownership::Holder;
  for (auto& member : members_) {
    member->forget_ownership();
    member->check(wait.until());
  }
  const auto found = [&](Holder holder) {
    return count([&](const Member& m) { return m.is_of_round() && m.ownership() && m.ownership()->holder == holder; });
  };
  const auto not_ours = [&] { return found(Holder::other) + found(Holder::nobody); };
  // All, if another process acquired the lock: the answers of q alone would not tell its fence.
  const auto enough = asked_for_.fence == 0 ? members_.size() : quorum_;
  RLOCK_TRY(run_until(
      wait, [&] { return found(Holder::us) >= enough || not_ours() > members_.size() - quorum_; },
      [&] { return found(Holder::us) >= quorum_ || not_ours() > 0; }));
  if (found(Holder::us) >= quorum_) {
    lock::Ownership result{.holder = Holder::us};
    std::vector<std::uint64_t> fences;
    for (const auto& member : members_) {
      if (!member->is_of_round() || !member->ownership() || member->ownership()->holder != Holder::us) continue;
      if (!result.record) result.record = member->ownership()->record;
      result.mode = member->ownership()->mode;
      fences.push_back(member->ownership()->fence);
    }
    // q servers were raised to the fence of the lease. What was won after that has another, which only that server
    // knows.
    std::ranges::sort(fences, std::greater());
    if (asked_for_.fence == 0) asked_for_.fence = fences[quorum_ - 1];
    result.fence = asked_for_.fence;
    return result;
  }
  if (not_ours() <= members_.size() - quorum_) return unavailable();
  return not_held(found(Holder::other) > found(Holder::nobody) ? Holder::other : Holder::nobody);
}

// Released where so many servers have the tombstone that no majority could hold.
lock::Ownership Quorum::not_held(lock::Ownership::Holder holder) const {
  return {.holder = holder,
          .is_released = count([](const Member& m) { return m.was_released(); }) > members_.size() - quorum_};
}

// To all at once, and nobody waits for a server that stands still.
Result<lock::Released> Quorum::release(const lock::Request& request, const lock::ReleaseOptions& options, Wait wait) {
  begin(request);
  const bool was_holding = votes(BootClock::now()) >= quorum_;
  const bool is_again = std::exchange(stage_, Stage::releasing) == Stage::releasing;
  const auto start = BootClock::now();
  std::vector<Member*> unasked;
  for (auto& member : members_) {
    member->forget_released();
    member->join_round();
    if (is_again && member->is_running()) continue;
    // What stands still may go on: the release comes behind it, over another connection.
    if (start >= member->asked_at() + pass_over_after) member->cancel();
    unasked.push_back(member.get());
  }
  const auto have_answered = [&](std::size_t n) {
    std::erase_if(unasked, [&](Member* member) { return member->release(options, wait.until()); });
    return count([](const Member& m) { return m.released().has_value(); }) >= n;
  };
  RLOCK_TRY(run_until(wait, [&] { return have_answered(quorum_); }));
  // A moment for the others; longer where connections have to be made first.
  const auto enough = BootClock::now();
  const auto moment =
      std::max<base::Instant::duration>(2 * (enough - start) + 2ms, was_holding ? 0ms : pass_over_after);
  RLOCK_TRY(run_until(wait.at_most(enough + moment), [&] { return have_answered(members_.size()); }));
  const auto answered = count([](const Member& m) { return m.released().has_value(); });
  if (answered < quorum_) return unavailable();
  const auto outcomes = [&](lock::ReleaseOutcome outcome) {
    return count([&](const Member& m) { return m.released() && m.released()->outcome == outcome; });
  };
  for (auto& member : members_) member->lose();
  const auto may_have_it = [&](const Member& m) {
    return !m.released() && (std::ranges::find(unasked, &m) != unasked.end() || !has_acquired_ || m.voter().may_hold());
  };
  const auto released = outcomes(lock::ReleaseOutcome::released);
  lock::Released result{lock::ReleaseOutcome::absent};
  result.is_everywhere = count(may_have_it) == 0;
  for (const auto& member : members_) {
    if (member->released() && result.holders.empty()) result.holders = member->released()->holders;
  }
  const auto unheard = members_.size() - answered;
  const bool is_of_other_form = outcomes(lock::ReleaseOutcome::other_form) > 0;
  const bool has_others = is_of_other_form || outcomes(lock::ReleaseOutcome::not_a_lock) > 0;
  const bool is_any_enough = options.force == lock::Force::yes || (was_holding && !has_others);
  const auto others = outcomes(lock::ReleaseOutcome::not_owner);
  // Whoever has the votes of a majority may have begun before we ended.
  const bool is_lost = options.force == lock::Force::no && others >= quorum_;
  if (!is_lost && (released >= quorum_ || (is_any_enough && released > 0))) {
    result.outcome = lock::ReleaseOutcome::released;
  } else if (!is_lost && has_others) {
    result.outcome = is_of_other_form ? lock::ReleaseOutcome::other_form : lock::ReleaseOutcome::not_a_lock;
  } else if (!is_lost && released + unheard + outcomes(lock::ReleaseOutcome::unknown) >= quorum_) {
    result.outcome = lock::ReleaseOutcome::unknown;
  } else if (others > 0) {
    result.outcome = lock::ReleaseOutcome::not_owner;
  }
  return result;
}

}  // namespace rlock::quorum
