#include <algorithm>
#include <utility>

#include "stores/quorum/quorum.hpp"

namespace rlock::quorum {

using namespace std::chrono_literals;
using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::Instant;
using base::Result;
using base::Wait;

namespace {

// A waiter looks at least this often, so that one server that stands still holds up nobody for long.
constexpr Duration max_look = 1s;

}  // namespace

// The first server in the order that somebody else holds.
Member* Quorum::first_refusal() {
  const auto found = std::ranges::find_if(members_, [](const auto& m) { return m->answer() == Member::Answer::held; });
  return found == members_.end() ? nullptr : found->get();
}

// A non-queueing acquire at the first server that answers, there alone: asked all at once, two clients would take the
// servers from each other. With Queue::yes it queues there.
Result<void> Quorum::ask_the_first(lock::Queue queue, Wait wait) {
  const auto now = BootClock::now();
  const auto decided = [&] {
    return count([&](const Member& m) {
             return m.is_of_round() && (m.answer() == Member::Answer::yes || m.answer() == Member::Answer::held ||
                                        m.answer() == Member::Answer::done);
           }) > 0;
  };
  for (const bool skipped : {false, true}) {
    for (auto& member : members_) {
      if (member->counts(now) || (now < member->passed_over_until()) != skipped) continue;
      if (!member->acquire(queue, wait.until())) continue;
      RLOCK_TRY(run_until(wait.at_most(BootClock::now() + pass_over_after),
                          [&] { return decided() || !member->is_running(); }));
      if (decided()) return {};
    }
  }
  // All are slow: wait for the first of them.
  return run_until(wait, decided);
}

// A run that succeeded has told so each server that it had a vote of, when it gave that vote back. So one of any q that
// vote for the next run knows of it, and what one says is true.
const Member* Quorum::who_is_done() const {
  const auto found = std::ranges::find_if(members_, [](const auto& m) { return m->answer() == Member::Answer::done; });
  return found == members_.end() ? nullptr : found->get();
}

Result<void> Quorum::ask_the_others(Wait wait) {
  std::vector<Member*> unasked;
  for (auto& member : members_) {
    if (!member->is_fresh(BootClock::now()) && !member->has_answered()) unasked.push_back(member.get());
    if (member->is_running()) member->join_round();
  }
  // Where all votes so far are ours, there is nothing to do but to wait for the others, however slow they are.
  const auto is_contended = [&] {
    return count([](const Member& m) {
             return m.answer() == Member::Answer::held || m.answer() == Member::Answer::young;
           }) > 0;
  };
  const auto decided = [&] {
    // A vote that is being released can be asked for again when that has ended.
    std::erase_if(unasked, [&](Member* member) {
      if (member->is_running()) return false;
      if (!member->is_fresh(BootClock::now())) member->acquire(lock::Queue::no, wait.until());
      return true;
    });
    const auto at = BootClock::now();
    const auto lost = count([&](const Member& m) { return !m.counts(at) && !m.is_running(); });
    return votes(at) >= quorum_ || lost > members_.size() - quorum_ || who_is_done() != nullptr;
  };
  return run_until(wait, decided, is_contended);
}

// Before a lease is used, q servers that hold the token know its fence, the largest of all votes': whoever gets q votes
// later has one of theirs, and a larger fence.
Result<bool> Quorum::raise_fence_everywhere(Wait wait) {
  const auto now = BootClock::now();
  asked_for_.fence = largest_fence(now);
  for (auto& member : members_) {
    if (member->counts(now) && !member->knows_fence()) member->raise_fence(wait.until());
  }
  const auto raised = [&] {
    const auto at = BootClock::now();
    return count([&](const Member& m) { return m.counts(at) && m.knows_fence(); }) >= quorum_;
  };
  RLOCK_TRY(run_until(wait, raised));
  return raised();
}

// What is held at the first refusal may be a vote of a lease that is over on all the others: its server was away when
// it was released, and had kept it. Whether q servers are free, or ours, and still are a moment later: else it is that
// of a client who has yet to ask them. No vote is asked for. Where too few servers answer to say so, that is an error
// if `must_know`.
Result<bool> Quorum::is_free_but_for(Member& refusal, bool must_know, Wait wait) {
  for (const bool again : {false, true}) {
    ++asked_for_.round;
    refusal.join_round();
    const auto start = BootClock::now();
    for (auto& member : members_) {
      member->forget_ownership();
      if (member.get() != &refusal && !member->counts(start)) member->check(wait.until());
    }
    const auto open = [&] { return count([&](const Member& m) { return m.is_awaited(); }); };
    const auto answered = [&] {
      return 1 +
             count([&](const Member& m) { return m.ownership().has_value() || (&m != &refusal && m.counts(start)); });
    };
    const auto free = [&] {
      return count([&](const Member& m) {
        return m.counts(start) || (m.ownership() && m.ownership()->holder == lock::Ownership::Holder::nobody &&
                                   start >= m.left_alone_until());
      });
    };
    RLOCK_TRY(run_until(
        wait, [&] { return answered() >= quorum_ && (free() >= quorum_ || free() + open() < quorum_); },
        [&] { return answered() >= quorum_; }));
    if (answered() < quorum_ && must_know) return unavailable();
    for (auto& member : members_) {
      if (member.get() != &refusal && member->is_of_round()) member->forget_answer();
    }
    if (free() < quorum_) return false;
    const auto moment = BootClock::now() + pass_over_after;
    while (!again && BootClock::now() < moment && !wait.is_over()) {
      if (drive(wait.at_most(moment)) == base::Readiness::interrupted) return base::interrupted();
    }
  }
  return true;
}

// Two URLs may lead to one server, which then has two votes. A text that is not a run id tells nothing.
Result<void> Quorum::check_distinct() const {
  const auto now = BootClock::now();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto& run_id = members_[i]->vote().run_id;
    const bool is_random = run_id.size() == 40 && run_id.find_first_not_of(run_id.front()) != std::string::npos;
    if (!is_random || !members_[i]->counts(now)) continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (!members_[j]->counts(now) || members_[j]->vote().run_id != run_id) continue;
      return base::fail(ErrorCode::configuration,
                        members_[j]->name() + " and " + members_[i]->name() + " are the same server");
    }
  }
  return {};
}

Result<lock::Acquired> Quorum::acquire(const lock::Request& request, lock::Queue queue, Wait wait) {
  const auto own = begin(request);
  has_acquired_ = true;
  bool has_looked = false;
  stage_ = Stage::acquiring;
  wait = wait.at_most(BootClock::now() + timeout_);
  if (waits_at_ == nullptr) RLOCK_TRY(finish_calls(wait));
  // A second time where the first server became ours, and another is the first refusal now.
  for (std::size_t round = 0; round < members_.size() && !wait.is_over(); ++round) {
    ++asked_for_.round;
    for (auto& member : members_) {
      if (!member->is_running()) member->forget_answer();
    }
    auto now = BootClock::now();
    if (votes(now) < quorum_) RLOCK_TRY(ask_the_first(queue, wait));
    if (who_is_done() != nullptr) break;
    now = BootClock::now();
    auto* const at = first_refusal();
    const bool waits = at != nullptr && queue == lock::Queue::yes && at == waits_at_;
    if (votes(now) == 0 || waits) {
      const bool is_next = waits && at->busy()->rank == 0 && now >= looked_at_ + max_look;
      const bool is_stale = (is_next || (at != nullptr && own.is_only_try)) && !std::exchange(has_looked, true) &&
                            RLOCK_TRY(is_free_but_for(*at, own.is_only_try, wait));
      if (is_next) looked_at_ = BootClock::now();
      wait_at(at);
      if (!is_stale) break;
    }
    RLOCK_TRY(ask_the_others(wait));
    if (who_is_done() != nullptr) break;
    if (votes(BootClock::now()) >= quorum_) {
      ++asked_for_.round;
      const bool is_fence_raised = RLOCK_TRY(raise_fence_everywhere(wait));
      RLOCK_TRY(check_distinct());
      if (is_fence_raised) {
        waits_at_ = nullptr;
        stage_ = Stage::holding;
        report_absent();
        renewing_since_ = {};
        return lock::Grant{asked_for_.fence, counts_from(BootClock::now()), {}};
      }
    }
    wait_at(first_refusal());
    if (waits_at_ == nullptr || queue == lock::Queue::no) break;
    clean_up();
  }
  return not_acquired();
}

void Quorum::wait_at(Member* refusal) {
  if (std::exchange(waits_at_, refusal) != refusal) looked_at_ = BootClock::now();
}

// Keeps the votes before the first refusal, and releases the others.
Result<lock::Acquired> Quorum::not_acquired() {
  if (const auto* member = who_is_done()) {
    waits_at_ = nullptr;
    clean_up();
    return *member->done();
  }
  if (waits_at_ != nullptr) renew_votes_ahead();
  auto result = why_not();
  clean_up();
  return result;
}

// Renews the votes before the first refusal. Nobody waits for the answers.
void Quorum::renew_votes_ahead() {
  for (auto& member : members_) {
    if (member.get() == waits_at_) return;
    const auto now = BootClock::now();
    if (member->counts(now) && !member->is_fresh(now)) member->acquire(lock::Queue::no, now + timeout_);
  }
}

Result<lock::Acquired> Quorum::why_not() const {
  const auto now = BootClock::now();
  if (waits_at_ != nullptr) {
    auto busy = *waits_at_->busy();
    busy.look_at = std::min(busy.look_at, now + max_look);
    for (const auto& member : members_) {
      if (!member->counts(now)) continue;
      // The next try, where one is under way or has failed: to look at once would be to ask all the time.
      const auto again = member->renew_at(std::max(member->vote().counts_from, member->asked_at()));
      if (again > now) busy.look_at = std::min(busy.look_at, again);
    }
    return busy;
  }
  // Young servers: how long until enough of them vote.
  std::vector<Duration> young;
  for (const auto& member : members_) {
    if (member->answer() == Member::Answer::young) young.push_back(*member->busy()->young_for);
  }
  const auto failed = count([](const Member& m) { return m.answer() == Member::Answer::failed || m.is_running(); });
  if (young.empty() || failed > members_.size() - quorum_) return unavailable();
  std::ranges::sort(young);
  const auto others = members_.size() - failed - young.size();
  const auto until_enough = young[std::min(young.size() - 1, quorum_ > others ? quorum_ - others - 1 : 0)];
  lock::Busy busy;
  busy.young_for = busy.holder_ttl = until_enough;
  busy.look_at = now + std::min(until_enough, max_look);
  return busy;
}

// Releases the votes that we do not wait with: all behind the first refusal, or all where there is no refusal.
void Quorum::clean_up() {
  if (stage_ != Stage::acquiring) return;
  bool is_behind = waits_at_ == nullptr;
  for (auto& member : members_) {
    if (member.get() == waits_at_) {
      is_behind = true;
      continue;
    }
    const auto now = BootClock::now();
    if (is_behind && member->has_to_release(now)) member->release_vote(now + timeout_);
  }
}

}  // namespace rlock::quorum
