#include "lock/quorum.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/log.hpp"
#include "base/retry.hpp"
#include "lock/lease.hpp"

namespace rlock::lock {

using namespace std::chrono_literals;
using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::Instant;
using base::Result;
using base::Wait;

namespace {

// The largest ttl in the fleet, where --grace does not say it.
constexpr Duration usual_max_ttl = 30s;
// Who says nothing for so long is passed over, and then left alone for a while.
constexpr Duration patience = 50ms;
constexpr Duration skip_time = 2s;
// For a token of which a release or a renewal may still be under way to a server: longer than the kernel goes on
// sending (TCP_USER_TIMEOUT), as the tombstone.
constexpr Duration silence = 31s;
// A waiter looks at least this often, so that one server that stands still holds up nobody for long.
constexpr Duration max_look = 1s;

}  // namespace

/// One server, and what we know of our vote there.
struct Quorum::Member {
  explicit Member(std::unique_ptr<Voter> server) : voter(std::move(server)) {}

  /// What the last answer was.
  enum class Said { nothing, yes, held, nobody, young, failed };

  std::unique_ptr<Voter> voter;
  std::uint64_t flight = 0;   ///< of that request, or of the last one
  Instant asked{};            ///< when it was sent
  Said said = Said::nothing;  ///< to the last one
  std::optional<base::Error> error;
  std::optional<Busy> busy;
  std::optional<Released> released;
  bool is_to_ask = false;  ///< when what is under way has ended
  bool is_to_release = false;
  std::optional<Standing> standing;
  Instant counts_from{};    ///< of our vote
  Instant until{};          ///< D of our vote; past: no vote
  std::uint64_t fence = 0;  ///< that came with it
  bool is_raised = false;   ///< every later fence there is larger than that of our lease
  Instant skipped_until{};  ///< it did not answer: others first
  Instant silent_until{};   ///< a message of our token may be under way to it: no vote is asked for
  bool is_unclean = false;  ///< such a message may have made us the holder: to be given back first
  base::Fiber call;         ///< the one request that is under way; it ends before the rest does

  void lose() {
    until = {};
    is_raised = false;
  }
  void keep_silent() {
    silent_until = BootClock::now() + silence;
    is_unclean = true;
  }
};

Quorum::Quorum(std::vector<Server> servers, Duration timeout)
    : quorum_(servers.size() / 2 + 1), timeout_(timeout), name_("the " + std::to_string(servers.size()) + " servers") {
  std::ranges::sort(servers, {}, &Server::rank);
  for (auto& server : servers) members_.push_back(std::make_unique<Member>(std::move(server.voter)));
}

Quorum::~Quorum() {
  for (auto& member : members_) member->call.cancel();
}

// ---------------------------------------------------------------- asking

// A call that is under way in another thread has to end before this one goes on: it may have looked up where errno of
// that thread is.
Result<Request> Quorum::begin(const Request& request) {
  const auto thread = std::this_thread::get_id();
  if (std::exchange(thread_, thread) != thread) {
    for (auto& member : members_) member->call.cancel();
  }
  base::PlainPoller plain;
  drive({Instant{}, plain});  // those whose time is over end now, and can be asked again
  ++flight_;
  auto own = request;
  own.is_vote = true;
  own.grace = std::max(request.grace > Duration::zero() ? request.grace : usual_max_ttl, request.ttl);
  own.ticket = ticket_;
  request_ = own;
  return own;
}

// Whether the request went out: not where another is under way.
bool Quorum::ask(Member& member, Instant until, std::function<void(Wait)> call) {
  if (member.call.is_running()) return false;
  member.flight = flight_;
  member.asked = BootClock::now();
  member.said = Member::Said::nothing;
  member.error.reset();
  const bool started =
      member.call.start([until, call = std::move(call)](base::Poller& poller) { call({until, poller}); });
  if (!started) {
    member.said = Member::Said::failed;
    member.error = base::Error{ErrorCode::internal, "no memory for a request"};
  }
  return started;
}

bool Quorum::ask_to_acquire(Member& member, Queue queue, Instant until) {
  if (BootClock::now() < member.silent_until) return false;
  return ask(member, until, [this, &member, queue, request = *request_](Wait wait) {
    if (member.is_unclean) {
      const auto goes_on = member.voter->give_back(request, wait);
      if (!goes_on.value_or(false)) {
        member.keep_silent();
        member.said = Member::Said::failed;
        member.error = goes_on
                           ? base::Error{ErrorCode::unready, member.voter->name() + " may still be asked for earlier"}
                           : goes_on.error();
        return;
      }
      member.is_unclean = false;
    }
    heard(member, member.voter->acquire(request, queue, wait));
  });
}

void Quorum::heard(Member& member, Result<Acquired> acquired) {
  using Said = Member::Said;
  if (!acquired) {
    member.said = Said::failed;
    member.error = std::move(acquired).error();
    member.skipped_until = BootClock::now() + skip_time;
    return;
  }
  if (const auto* grant = std::get_if<Grant>(&*acquired)) {
    member.said = Said::yes;
    if (member.fence != grant->fence) member.is_raised = false;
    member.fence = grant->fence;
    member.counts_from = grant->counts_from;
    member.until = LeaseTerms{request_->ttl, {}, {}}.deadline(grant->counts_from);
    return;
  }
  member.lose();
  member.busy = std::get<Busy>(std::move(*acquired));
  member.said = member.busy->kept_for ? Said::young : Said::held;
  if (ticket_ == 0) ticket_ = member.busy->ticket;
}

// A vote that had ended before a restarted server took us back does not count: another may have had one there
// meanwhile, and be forgotten too. (The model finds two holders.)
void Quorum::ask_to_renew(Member& member, Watch watch, Instant until) {
  const auto vote_before = member.until;
  ask(member, until, [this, &member, watch, vote_before, request = *request_](Wait wait) {
    heard(member, member.voter->renew(request, watch, wait), vote_before);
  });
}

void Quorum::heard(Member& member, Result<Standing> standing, Instant vote_before) {
  using Said = Member::Said;
  if (!standing) {
    member.said = Said::failed;
    member.error = std::move(standing).error();
    if (member.voter->may_reclaim()) member.keep_silent();
    return;
  }
  switch (standing->holder) {
    case Standing::Holder::nobody:
      member.said = Said::nobody;
      member.lose();
      return;
    case Standing::Holder::other:
      member.said = Said::held;
      member.lose();
      return;
    case Standing::Holder::us:
      break;
  }
  if (standing->is_reclaimed && BootClock::now() >= vote_before) {
    member.said = Said::nobody;
    member.lose();
    member.keep_silent();
    return;
  }
  if (standing->is_reclaimed) {
    base::log_note(member.voter->name() + " restarted and had forgotten " + request_->names.lock + "; reclaimed it");
  }
  member.said = Said::yes;
  member.counts_from = standing->counts_from;
  member.until = LeaseTerms{request_->ttl, {}, {}}.deadline(standing->counts_from);
  if (member.fence == 0) member.fence = standing->fence;
  if (standing->fence < fence_) member.is_raised = false;
  member.standing = std::move(*standing);
}

void Quorum::ask_to_check(Member& member, Instant until) {
  ask(member, until, [&member, request = *request_](Wait wait) {
    auto standing = member.voter->check(request, wait);
    member.said = standing ? Member::Said::yes : Member::Said::failed;
    if (!standing) {
      member.error = std::move(standing).error();
      return;
    }
    if (standing->holder != Standing::Holder::us) member.lose();
    member.standing = std::move(*standing);
  });
}

void Quorum::ask_to_raise(Member& member, Instant until) {
  ask(member, until, [this, &member, fence = fence_, request = *request_](Wait wait) {
    const auto raised = member.voter->raise(request, fence, wait);
    if (!raised) {
      member.said = Member::Said::failed;
      member.error = raised.error();
      return;
    }
    member.said = *raised ? Member::Said::yes : Member::Said::nobody;
    if (!*raised) member.lose();
    member.is_raised = *raised && fence == fence_;
  });
}

void Quorum::ask_to_release(Member& member, Force force, Instant until) {
  if (member.call.is_running()) return;
  member.is_to_release = false;
  ask(member, until, [&member, force, request = *request_](Wait wait) {
    auto released = member.voter->release(request, force, wait);
    member.said = released ? Member::Said::yes : Member::Said::failed;
    if (released) {
      member.released = std::move(*released);
    } else {
      member.error = std::move(released).error();
    }
  });
}

// What was got behind the gap, or comes late and is not wanted.
void Quorum::give_back(Member& member) {
  member.lose();
  member.busy.reset();
  const auto until = BootClock::now() + timeout_;
  ask(member, until, [&member, request = *request_](Wait wait) {
    const auto goes_on = member.voter->give_back(request, wait);
    member.said = goes_on ? Member::Said::nobody : Member::Said::failed;
    if (!goes_on) member.error = goes_on.error();
    if (!goes_on.value_or(false)) member.keep_silent();
  });
}

base::Readiness Quorum::drive(Wait wait) {
  std::array<base::Fiber*, 8> calls{};
  std::size_t n = 0;
  for (auto& member : members_) calls.at(n++) = &member->call;
  return base::drive(std::span(calls).first(n), {}, wait);
}

// Until `done`, or until all that were asked in this flight have answered. Once `may_leave`, those that take much longer
// than the others did are left behind: they may stand still, and there is something to do without them. Their requests go
// on.
Result<void> Quorum::fly(Wait wait, const Done& done, const Done& may_leave) {
  const auto start = BootClock::now();
  auto patient_until = wait.until();
  std::size_t open = members_.size() + 1;
  while (!done()) {
    const auto now = BootClock::now();
    const auto still_open = count([&](const Member& m) { return m.flight == flight_ && m.call.is_running(); });
    const auto answered =
        count([&](const Member& m) { return m.flight == flight_ && m.said != Member::Said::nothing; });
    if (std::exchange(open, still_open) > still_open && answered > 0) patient_until = now + patience + 2 * (now - start);
    if (open == 0) break;
    const auto end = may_leave && may_leave() ? std::min(wait.until(), patient_until) : wait.until();
    if (now >= end) {
      for (auto& member : members_) {
        if (member->flight == flight_ && member->call.is_running()) member->skipped_until = now + skip_time;
      }
      break;
    }
    if (drive(wait.at_most(end)) == base::Readiness::interrupted) return base::interrupted();
  }
  return {};
}

// Lets calls of earlier flights end that are answered soon.
Result<void> Quorum::settle(Wait wait) {
  while (true) {
    auto end = base::never;
    for (const auto& member : members_) {
      const auto soon = member->asked + patience;
      if (member->call.is_running() && BootClock::now() < soon) end = std::min(end, soon);
    }
    if (end == base::never || wait.is_over()) return {};
    if (drive(wait.at_most(end)) == base::Readiness::interrupted) return base::interrupted();
  }
}

// ---------------------------------------------------------------- counting

template <class Is>
std::size_t Quorum::count(Is is) const {
  return static_cast<std::size_t>(std::ranges::count_if(members_, [&](const auto& member) { return is(*member); }));
}

bool Quorum::counts(const Member& member, Instant now) const { return now < member.until; }

std::size_t Quorum::votes(Instant now) const {
  return count([&](const Member& member) { return counts(member, now); });
}

// The instant from which q votes count: the lease on the whole ends when the first of these does.
Instant Quorum::counts_from(Instant now) const {
  std::vector<Instant> from;
  for (const auto& member : members_) {
    if (counts(*member, now)) from.push_back(member->counts_from);
  }
  if (from.size() < quorum_) return {};
  std::ranges::sort(from, std::greater());
  return from[quorum_ - 1];
}

std::unexpected<base::Error> Quorum::unavailable() const {
  std::size_t good = 0;
  std::string why;
  auto code = ErrorCode::unreachable;
  for (const auto& member : members_) {
    const bool is_silent = member->call.is_running();
    if (!is_silent && !member->error) {
      ++good;
      continue;
    }
    why += "; " + (member->error ? member->error->message : "no answer from " + member->voter->name());
    if (member->error && !base::may_pass(*member->error) && member->error->code != ErrorCode::interrupted) {
      code = member->error->code;
    }
  }
  return base::fail(code, std::to_string(good) + " of " + std::to_string(members_.size()) +
                              " servers can be used, and " + std::to_string(quorum_) + " are needed" + why);
}

// Those that the lock does without.
void Quorum::tell_of_absent() const {
  const auto now = BootClock::now();
  for (const auto& member : members_) {
    const bool is_silent = member->call.is_running() && now >= member->asked + patience;
    if (counts(*member, now) || !(member->error || is_silent)) continue;
    base::log_debug((is_silent ? "no answer from " + member->voter->name() : member->error->message) +
                    "; a majority holds without it");
  }
}

// ---------------------------------------------------------------- acquiring

// The first server in the order that somebody else holds.
Quorum::Member* Quorum::gap() {
  const auto found = std::ranges::find_if(
      members_, [](const auto& m) { return m->said == Member::Said::held && !m->call.is_running(); });
  return found == members_.end() ? nullptr : found->get();
}

// A non-queueing acquire at the first server that answers, there alone: asked all at once, two clients would take the
// servers from each other. With Queue::yes it queues there.
Result<void> Quorum::ask_the_first(Queue queue, Wait wait) {
  const auto now = BootClock::now();
  for (const bool skipped : {false, true}) {
    for (auto& member : members_) {
      if (counts(*member, now) || (now < member->skipped_until) != skipped) continue;
      if (!ask_to_acquire(*member, queue, wait.until())) continue;
      auto decided = [&] {
        return count([&](const Member& m) {
                 return m.flight == flight_ && (m.said == Member::Said::yes || m.said == Member::Said::held);
               }) > 0;
      };
      RLOCK_TRY(
          fly(wait.at_most(BootClock::now() + patience), [&] { return decided() || !member->call.is_running(); }));
      if (decided()) return {};
    }
    // All are slow: wait for the first of them.
    if (skipped) {
      RLOCK_TRY(fly(wait, [&] {
        return count([&](const Member& m) {
                 return m.flight == flight_ && (m.said == Member::Said::yes || m.said == Member::Said::held);
               }) > 0;
      }));
    }
  }
  return {};
}

Result<void> Quorum::ask_the_others(Wait wait) {
  const auto is_fresh = [&](const Member& m) {
    const auto now = BootClock::now();
    return counts(m, now) && now < m.counts_from + request_->ttl / 3;
  };
  for (auto& member : members_) {
    const bool has_answered = member->flight == flight_ && member->said != Member::Said::nothing;
    member->is_to_ask = !is_fresh(*member) && !has_answered;
    if (member->call.is_running()) member->flight = flight_;
  }
  // Where all votes so far are ours, there is nothing to do but to wait for the others, however slow they are.
  const auto is_contended = [&] {
    return count([](const Member& m) { return m.said == Member::Said::held || m.said == Member::Said::young; }) > 0;
  };
  const auto decided = [&] {
    for (auto& member : members_) {
      // What was given back a moment ago can be asked for again when that has ended.
      if (!member->is_to_ask || member->call.is_running()) continue;
      member->is_to_ask = false;
      if (!is_fresh(*member)) ask_to_acquire(*member, Queue::no, wait.until());
    }
    const auto at = BootClock::now();
    const auto lost = count([&](const Member& m) { return !counts(m, at) && !m.call.is_running(); });
    return votes(at) >= quorum_ || lost > members_.size() - quorum_;
  };
  return fly(wait, decided, is_contended);
}

// Before a lease is used, q servers that hold the token know its fence, the largest of all votes': whoever gets q votes
// later has one of theirs, and a larger fence.
Result<bool> Quorum::raise_all(Wait wait) {
  const auto now = BootClock::now();
  std::uint64_t fence = 0;
  for (const auto& member : members_) {
    if (counts(*member, now)) fence = std::max(fence, member->fence);
  }
  if (std::exchange(fence_, fence) != fence) {
    for (auto& member : members_) member->is_raised = false;
  }
  for (auto& member : members_) {
    if (!counts(*member, now)) continue;
    if (member->fence == fence_) member->is_raised = true;
    if (!member->is_raised) ask_to_raise(*member, wait.until());
  }
  const auto raised = [&] {
    const auto at = BootClock::now();
    return count([&](const Member& m) { return counts(m, at) && m.is_raised; }) >= quorum_;
  };
  RLOCK_TRY(fly(wait, raised));
  return raised();
}

// What is held at the gap may be a vote of a lease that is over on all the others: its server was away when it was
// released, and had kept it. Whether q servers are free, or ours, and still are a moment later: else it is that of a
// client who has yet to ask them. No vote is asked for. Where too few servers answer to say so, that is an error if
// `must_know`.
Result<bool> Quorum::is_free_but_for(Member& gap, bool must_know, Wait wait) {
  for (const bool again : {false, true}) {
    ++flight_;
    gap.flight = flight_;
    const auto start = BootClock::now();
    for (auto& member : members_) {
      member->standing.reset();
      if (member.get() != &gap && !counts(*member, start)) ask_to_check(*member, wait.until());
    }
    const auto open = [&] { return count([&](const Member& m) { return m.flight == flight_ && m.call.is_running(); }); };
    const auto answered = [&] {
      return 1 + count([&](const Member& m) { return m.standing.has_value() || (&m != &gap && counts(m, start)); });
    };
    const auto free = [&] {
      return count([&](const Member& m) {
        return counts(m, start) || (m.standing && m.standing->holder == Standing::Holder::nobody && start >= m.silent_until);
      });
    };
    RLOCK_TRY(fly(wait, [&] { return answered() >= quorum_ && (free() >= quorum_ || free() + open() < quorum_); },
                  [&] { return answered() >= quorum_; }));
    if (answered() < quorum_ && must_know) return unavailable();
    for (auto& member : members_) {
      if (member.get() != &gap && member->flight == flight_) member->said = Member::Said::nothing;
    }
    if (free() < quorum_) return false;
    const auto moment = BootClock::now() + patience;
    while (!again && BootClock::now() < moment && !wait.is_over()) {
      if (drive(wait.at_most(moment)) == base::Readiness::interrupted) return base::interrupted();
    }
  }
  return true;
}

Result<Acquired> Quorum::acquire(const Request& request, Queue queue, Wait wait) {
  const auto own = RLOCK_TRY(begin(request));
  bool has_looked = false;
  stage_ = Stage::acquiring;
  wait = wait.at_most(BootClock::now() + timeout_);
  if (waits_at_ == nullptr) RLOCK_TRY(settle(wait));
  // A second time where the first server became ours, and another is the gap now.
  for (std::size_t round = 0; round < members_.size() && !wait.is_over(); ++round) {
    ++flight_;
    for (auto& member : members_) {
      if (!member->call.is_running()) member->said = Member::Said::nothing;
    }
    auto now = BootClock::now();
    if (votes(now) < quorum_) RLOCK_TRY(ask_the_first(queue, wait));
    now = BootClock::now();
    auto* const at = gap();
    const bool waits = at != nullptr && queue == Queue::yes && at == waits_at_;
    if (votes(now) == 0 || waits) {
      if (!waits) waits_since_ = now;
      const bool is_next = waits && at->busy->rank == 0 && now >= waits_since_ + max_look;
      const bool is_stale = (is_next || (at != nullptr && own.is_only_try)) && !std::exchange(has_looked, true) &&
                            RLOCK_TRY(is_free_but_for(*at, own.is_only_try, wait));
      waits_at_ = at;
      if (!is_stale) break;
    }
    RLOCK_TRY(ask_the_others(wait));
    if (votes(BootClock::now()) >= quorum_) {
      ++flight_;
      const bool is_raised = RLOCK_TRY(raise_all(wait));
      if (is_raised) {
        waits_at_ = nullptr;
        stage_ = Stage::holding;
        tell_of_absent();
        renewing_since_ = {};
        return Grant{fence_, counts_from(BootClock::now()), {}};
      }
    }
    waits_at_ = gap();
    if (waits_at_ == nullptr || queue == Queue::no) break;
    tidy();
  }
  return not_acquired();
}

// Keeps what is before the gap, and gives back the rest.
Result<Acquired> Quorum::not_acquired() {
  auto result = why_not();
  tidy();
  return result;
}

Result<Acquired> Quorum::why_not() const {
  const auto now = BootClock::now();
  if (waits_at_ != nullptr) {
    auto busy = *waits_at_->busy;
    busy.look_at = std::min(busy.look_at, now + max_look);
    for (const auto& member : members_) {
      if (counts(*member, now)) busy.look_at = std::min(busy.look_at, member->counts_from + request_->ttl / 3);
    }
    return busy;
  }
  // Young servers: how long until enough of them vote.
  std::vector<Duration> young;
  for (const auto& member : members_) {
    if (member->said == Member::Said::young) young.push_back(*member->busy->kept_for);
  }
  const auto failed = count([](const Member& m) { return m.said == Member::Said::failed || m.call.is_running(); });
  if (young.empty() || failed > members_.size() - quorum_) return unavailable();
  std::ranges::sort(young);
  const auto others = members_.size() - failed - young.size();
  const auto kept = young[std::min(young.size() - 1, quorum_ > others ? quorum_ - others - 1 : 0)];
  Busy busy;
  busy.kept_for = busy.holder_ttl = kept;
  busy.look_at = now + std::min(kept, max_look);
  return busy;
}

// Gives back what we do not wait with: all behind the gap, or all where there is none.
void Quorum::tidy() {
  if (stage_ != Stage::acquiring) return;
  bool is_behind = waits_at_ == nullptr;
  for (auto& member : members_) {
    if (member.get() == waits_at_) {
      is_behind = true;
      continue;
    }
    if (!is_behind || member->call.is_running()) continue;
    const bool queues = member->busy && member->busy->ticket != 0;
    if (member->until != Instant{} || queues) give_back(*member);
  }
}

// ---------------------------------------------------------------- holding

Result<Standing> Quorum::renew(const Request& request, Watch watch, Wait wait) {
  RLOCK_TRY(begin(request));
  const auto start = BootClock::now();
  if (renewing_since_ == Instant{}) renewing_since_ = start;
  // Who holds the lock may win other votes, too. Who does not, or does not know it, since another process acquired the
  // lock, must not acquire it anew.
  const bool holds = votes(start) >= quorum_;
  for (auto& member : members_) {
    if (member->call.is_running()) {
      member->flight = flight_;
    } else if (!holds || counts(*member, start)) {
      ask_to_renew(*member, watch, wait.until());
    } else {
      ask_to_acquire(*member, Queue::no, wait.until());
    }
  }
  stage_ = Stage::holding;
  // Answers to the tries before this one count, too: a server that takes longer than the others has answered one of them.
  const auto is_renewed = [&](const Member& m) { return counts(m, BootClock::now()) && m.counts_from >= renewing_since_; };
  const auto renewed = [&] { return count(is_renewed); };
  const auto lost = [&] {
    const auto now = BootClock::now();
    return count([&](const Member& m) {
      return !counts(m, now) && !m.call.is_running() && m.said != Member::Said::failed && m.flight == flight_;
    });
  };
  const auto may_try_again = [&] {
    return count([&](const Member& m) { return !m.call.is_running() && !is_renewed(m); }) > 0;
  };
  RLOCK_TRY(fly(wait, [&] { return renewed() >= quorum_ || lost() > members_.size() - quorum_; }, may_try_again));
  const auto now = BootClock::now();
  if (lost() > members_.size() - quorum_) {
    // Another may be running only if it can have q votes.
    const auto others = count([&](const Member& m) { return !counts(m, now) && m.said == Member::Said::held; });
    const bool is_taken = others > 0 && members_.size() - votes(now) >= quorum_ && others >= lost() - others;
    return Standing{.holder = is_taken ? Standing::Holder::other : Standing::Holder::nobody};
  }
  if (renewed() < quorum_) return unavailable();
  tell_of_absent();
  renewing_since_ = {};
  if (fence_ == 0) {
    for (const auto& member : members_) {
      if (counts(*member, now)) fence_ = std::max(fence_, member->fence);
    }
  }
  // What was won late has to know the fence too; nobody waits for it.
  for (auto& member : members_) {
    if (counts(*member, now) && member->fence != fence_ && !member->is_raised) ask_to_raise(*member, now + timeout_);
  }
  return Standing{.holder = Standing::Holder::us, .fence = fence_, .counts_from = counts_from(now)};
}

Result<Standing> Quorum::check(const Request& request, Wait wait) {
  RLOCK_TRY(begin(request));
  using Holder = Standing::Holder;
  for (auto& member : members_) {
    member->standing.reset();
    ask_to_check(*member, wait.until());
  }
  const auto found = [&](Holder holder) {
    return count([&](const Member& m) { return m.flight == flight_ && m.standing && m.standing->holder == holder; });
  };
  const auto not_ours = [&] { return found(Holder::other) + found(Holder::nobody); };
  // All, if another process acquired the lock: the answers of q alone would not tell its fence.
  const auto enough = fence_ == 0 ? members_.size() : quorum_;
  RLOCK_TRY(fly(wait, [&] { return found(Holder::us) >= enough || not_ours() > members_.size() - quorum_; },
                [&] { return found(Holder::us) >= quorum_ || not_ours() > 0; }));
  if (found(Holder::us) >= quorum_) {
    Standing result{.holder = Holder::us};
    std::vector<std::uint64_t> fences;
    for (const auto& member : members_) {
      if (member->flight != flight_ || !member->standing || member->standing->holder != Holder::us) continue;
      if (!result.record) result.record = member->standing->record;
      fences.push_back(member->standing->fence);
    }
    // q servers were raised to the fence of the lease. What was won after that has another, which only that server
    // knows.
    std::ranges::sort(fences, std::greater());
    if (fence_ == 0) fence_ = fences[quorum_ - 1];
    result.fence = fence_;
    return result;
  }
  if (not_ours() <= members_.size() - quorum_) return unavailable();
  return Standing{.holder = found(Holder::other) > found(Holder::nobody) ? Holder::other : Holder::nobody};
}

// To all at once, and nobody waits for a server that stands still.
Result<Released> Quorum::release(const Request& request, Force force, Wait wait) {
  RLOCK_TRY(begin(request));
  const bool was_holding = votes(BootClock::now()) >= quorum_;
  stage_ = Stage::releasing;
  const auto start = BootClock::now();
  for (auto& member : members_) {
    member->released.reset();
    member->is_to_release = true;
    // What stands still may go on: the release comes behind it, over another connection.
    if (member->call.is_running() && start >= member->asked + patience) member->call.cancel();
    member->flight = flight_;
    if (!member->call.is_running()) ask_to_release(*member, force, wait.until());
  }
  const auto have_answered = [&](std::size_t n) {
    for (auto& member : members_) {
      if (member->is_to_release) ask_to_release(*member, force, wait.until());
    }
    return count([](const Member& m) { return m.released.has_value(); }) >= n;
  };
  RLOCK_TRY(fly(wait, [&] { return have_answered(quorum_); }));
  // A moment for the others.
  const auto enough = BootClock::now();
  RLOCK_TRY(fly(wait.at_most(enough + 2 * (enough - start) + 2ms), [&] { return have_answered(members_.size()); }));
  const auto answered = count([](const Member& m) { return m.released.has_value(); });
  if (answered < quorum_) return unavailable();
  const auto outcomes = [&](ReleaseOutcome outcome) {
    return count([&](const Member& m) { return m.released && m.released->outcome == outcome; });
  };
  for (auto& member : members_) member->lose();
  const auto released = outcomes(ReleaseOutcome::released);
  Released result{ReleaseOutcome::absent};
  for (const auto& member : members_) {
    if (member->released && member->released->holder && !result.holder) result.holder = member->released->holder;
  }
  const auto unheard = members_.size() - answered;
  if (released >= quorum_ || (force == Force::yes && released > 0)) {
    result.outcome = ReleaseOutcome::released;
  } else if (outcomes(ReleaseOutcome::not_a_lock) > 0) {
    result.outcome = ReleaseOutcome::not_a_lock;
  } else if (was_holding && released > 0) {
    result.outcome = ReleaseOutcome::released;
  } else if (released + unheard + outcomes(ReleaseOutcome::unknown) >= quorum_) {
    result.outcome = ReleaseOutcome::unknown;
  } else if (outcomes(ReleaseOutcome::not_owner) > 0) {
    result.outcome = ReleaseOutcome::not_owner;
  }
  return result;
}

bool Quorum::may_hold() const {
  return std::ranges::any_of(members_, [](const auto& m) { return m->call.is_running() || m->voter->may_hold(); });
}

// ---------------------------------------------------------------- news

std::vector<pollfd> Quorum::wait_fds() const {
  std::vector<pollfd> fds;
  for (const auto& member : members_) {
    if (member->call.is_running()) {
      fds.insert(fds.end(), member->call.fds().begin(), member->call.fds().end());
    } else if (member.get() == waits_at_ || stage_ == Stage::holding) {
      const auto theirs = member->voter->wait_fds();
      fds.insert(fds.end(), theirs.begin(), theirs.end());
    }
  }
  return fds;
}

Result<Event> Quorum::drain() {
  if (!request_) return Event{};
  base::PlainPoller plain;
  drive({Instant{}, plain});
  tidy();
  Event all;
  all.granted = stage_ == Stage::acquiring && votes(BootClock::now()) >= quorum_;  // late answers made it so
  for (auto& member : members_) {
    if (member->call.is_running() || (member.get() != waits_at_ && stage_ != Stage::holding)) continue;
    const auto event = member->voter->drain();
    if (!event) {
      // A waiter goes elsewhere. A holder renews all in time, and finds out then.
      if (member.get() == waits_at_) all.look_at = {};
      continue;
    }
    all.granted |= event->granted;
    all.touched |= event->touched;
    all.look_at = std::min(all.look_at, event->look_at);
  }
  return all;
}

// ---------------------------------------------------------------- status

// What each server that answers in time says; fewer than q answers are a failure.
template <class T>
Result<std::vector<T>> Quorum::ask_all(Wait wait, const std::function<Result<T>(Voter&, Wait)>& call) {
  ++flight_;
  std::vector<T> answers;
  for (auto& member : members_) {
    ask(*member, wait.until(), [&, &asked = *member](Wait own) {
      auto answer = call(*asked.voter, own);
      asked.said = answer ? Member::Said::yes : Member::Said::failed;
      if (answer) {
        answers.push_back(std::move(*answer));
      } else {
        asked.error = std::move(answer).error();
      }
    });
  }
  const auto flown = fly(wait, [] { return false; }, [&] { return answers.size() >= quorum_; });
  for (auto& member : members_) {
    if (!member->call.is_running()) continue;
    member->call.cancel();  // later there would be nowhere to put its answer
    member->error = base::Error{ErrorCode::unreachable, "no answer from " + member->voter->name()};
  }
  RLOCK_TRY(flown);
  if (answers.size() < quorum_) return unavailable();
  return answers;
}

Result<std::vector<Inspection>> Quorum::inspect(std::span<const std::string> wire_keys, std::int64_t max_waiters,
                                                Wait wait) {
  auto servers = RLOCK_TRY(ask_all<std::vector<Inspection>>(
      wait, [&](Voter& voter, Wait own) { return voter.inspect(wire_keys, max_waiters, own); }));
  std::vector<Inspection> result;
  for (std::size_t key = 0; key < wire_keys.size(); ++key) {
    std::vector<Inspection> sights;
    for (auto& server : servers) sights.push_back(std::move(server[key]));
    result.push_back(merged(std::move(sights), members_.size()));
  }
  return result;
}

Result<std::vector<std::string>> Quorum::list(const std::string& prefix, Wait wait) {
  const auto servers = RLOCK_TRY(
      ask_all<std::vector<std::string>>(wait, [&](Voter& voter, Wait own) { return voter.list(prefix, own); }));
  std::set<std::string> keys;
  for (const auto& server : servers) keys.insert(server.begin(), server.end());
  return std::vector<std::string>(keys.begin(), keys.end());
}

Result<std::vector<std::string>> Quorum::warnings(Wait wait) {
  const auto servers =
      RLOCK_TRY(ask_all<std::vector<std::string>>(wait, [](Voter& voter, Wait own) { return voter.warnings(own); }));
  std::vector<std::string> all;
  for (const auto& server : servers) all.insert(all.end(), server.begin(), server.end());
  for (const auto& member : members_) {
    if (member->error) all.push_back(member->error->message + "; a majority is left without it");
  }
  return all;
}

// FNV-1a.
std::string rank_of(std::string_view wire_key, std::string_view server) {
  std::uint64_t hash = 14695981039346656037U;
  for (const auto text : {wire_key, std::string_view("\n"), server}) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  std::string rank(16, '0');
  for (auto digit = rank.rbegin(); digit != rank.rend(); ++digit, hash >>= 4U) *digit = "0123456789abcdef"[hash & 15U];
  return rank;
}

}  // namespace rlock::lock
