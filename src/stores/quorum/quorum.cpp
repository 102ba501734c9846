#include "stores/quorum/quorum.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/text/duration.hpp"
#include "base/text/hash.hpp"
#include "base/text/text.hpp"
#include "base/wait/retry.hpp"

namespace rlock::quorum {

using namespace std::chrono_literals;
using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::Instant;
using base::Result;
using base::Wait;

Quorum::Quorum(std::vector<Server> servers, Duration timeout)
    : quorum_(servers.size() / 2 + 1), timeout_(timeout), name_("the " + std::to_string(servers.size()) + " servers") {
  std::ranges::sort(servers, {}, &Server::rank);
  for (auto& server : servers) members_.push_back(std::make_unique<Member>(std::move(server.voter), asked_for_));
}

Quorum::~Quorum() {
  for (auto& member : members_) member->cancel();
}

// ---------------------------------------------------------------- asking

lock::Request Quorum::begin(const lock::Request& request) {
  base::take_over(thread_, calls());
  base::PlainPoller plain;
  drive({Instant{}, plain});  // those whose time is over end now, and can be asked again
  ++asked_for_.round;
  auto own = request;
  for (auto& member : members_) member->voter().queue_since(asked_for_.ticket);
  asked_for_.request = own;
  if (asked_for_.fence == 0) asked_for_.fence = request.fence;
  return own;
}

std::vector<base::Fiber*> Quorum::calls() const {
  std::vector<base::Fiber*> calls;
  for (const auto& member : members_) calls.push_back(&member->call());
  return calls;
}

base::Readiness Quorum::drive(Wait wait) { return base::drive(calls(), {}, wait); }

// Until `done`, or until all that were asked in this round have answered. Once `may_leave`, those that take much
// longer than the others did are left behind: they may stand still, and there is something to do without them. Their
// requests go on.
Result<void> Quorum::run_until(Wait wait, const Predicate& done, const Predicate& may_leave) {
  const auto start = BootClock::now();
  auto pass_over_at = wait.until();
  std::size_t open = members_.size() + 1;
  while (!done()) {
    const auto now = BootClock::now();
    const auto still_open = count([&](const Member& m) { return m.is_awaited(); });
    const auto answered = count([](const Member& m) { return m.has_answered(); });
    if (std::exchange(open, still_open) > still_open && answered > 0)
      pass_over_at = now + pass_over_after + 2 * (now - start);
    if (open == 0) break;
    const auto end = may_leave && may_leave() ? std::min(wait.until(), pass_over_at) : wait.until();
    if (now >= end) {
      for (auto& member : members_) {
        if (member->is_awaited()) member->pass_over();
      }
      break;
    }
    if (drive(wait.at_most(end)) == base::Readiness::interrupted) return base::interrupted();
  }
  return {};
}

// Lets calls of earlier flights end that are answered soon.
Result<void> Quorum::finish_calls(Wait wait) {
  while (true) {
    auto end = base::never;
    for (const auto& member : members_) {
      const auto soon = member->asked_at() + pass_over_after;
      if (member->is_running() && BootClock::now() < soon) end = std::min(end, soon);
    }
    if (end == base::never || wait.is_over()) return {};
    if (drive(wait.at_most(end)) == base::Readiness::interrupted) return base::interrupted();
  }
}

// ---------------------------------------------------------------- counting

std::size_t Quorum::votes(Instant now) const {
  return count([&](const Member& member) { return member.counts(now); });
}

std::uint64_t Quorum::largest_fence(Instant now) const {
  std::uint64_t fence = 0;
  for (const auto& member : members_) {
    if (member->counts(now)) fence = std::max(fence, member->vote().fence);
  }
  return fence;
}

// The instant from which q votes count: the lease on the whole ends when the first of these does.
Instant Quorum::counts_from(Instant now) const {
  std::vector<Instant> from;
  for (const auto& member : members_) {
    if (member->counts(now)) from.push_back(member->vote().counts_from);
  }
  if (from.size() < quorum_) return {};
  std::ranges::sort(from, std::greater());
  return from[quorum_ - 1];
}

std::unexpected<base::Error> Quorum::unavailable() const {
  std::size_t good = 0;
  std::string why;
  auto code = ErrorCode::unreachable;
  const auto now = BootClock::now();
  for (const auto& member : members_) {
    if (member->can_be_used(now)) {
      ++good;
      continue;
    }
    if (now < member->left_alone_until()) {
      why += "; " + member->name() + " is left alone for another " +
             base::age_text(std::chrono::ceil<std::chrono::seconds>(member->left_alone_until() - now)) +
             ", since an earlier request may still be under way to it";
      continue;
    }
    why += "; " + (member->error() ? member->error()->message : "no answer from " + member->name());
    if (member->error() && !base::may_pass(*member->error()) && member->error()->code != ErrorCode::interrupted) {
      code = member->error()->code;
    }
  }
  return base::fail(code, std::to_string(good) + " of " + std::to_string(members_.size()) +
                              " servers can be used, and " + std::to_string(quorum_) + " are needed" + why);
}

// When those of a majority that are left alone for a while can be asked again, if that is all that is missing.
Instant Quorum::serves_again() const {
  const auto now = BootClock::now();
  std::vector<Instant> again;
  for (const auto& member : members_) {
    if (member->can_be_used(now)) again.push_back(Instant{});
    if (now < member->left_alone_until()) again.push_back(member->left_alone_until());
  }
  if (again.size() < quorum_) return {};
  std::ranges::sort(again);
  return again[quorum_ - 1];
}

// Those that the lock does without.
void Quorum::report_absent() const {
  const auto now = BootClock::now();
  for (const auto& member : members_) {
    // Where it was asked again a moment ago, what became of the request before counts.
    const bool was_silent = now < std::max(member->left_alone_until(), member->passed_over_until());
    const bool is_silent = member->is_running() && (was_silent || now >= member->asked_at() + pass_over_after);
    if (member->counts(now) || !(member->error() || is_silent)) continue;
    base::log_debug((is_silent ? "no answer from " + member->name() : member->error()->message) +
                    "; a majority holds without it");
  }
}

// ---------------------------------------------------------------- news

bool Quorum::may_hold() const {
  return std::ranges::any_of(members_, [](const auto& m) { return m->is_running() || m->voter().may_hold(); });
}

std::vector<pollfd> Quorum::wait_fds() const {
  std::vector<pollfd> fds;
  for (const auto& member : members_) {
    if (member->is_running()) {
      fds.insert(fds.end(), member->call().fds().begin(), member->call().fds().end());
    } else if (member.get() == waits_at_ || stage_ == Stage::holding) {
      const auto theirs = member->voter().wait_fds();
      fds.insert(fds.end(), theirs.begin(), theirs.end());
    }
  }
  return fds;
}

Result<lock::Event> Quorum::drain() {
  if (!asked_for_.request) return lock::Event{};
  base::PlainPoller plain;
  drive({Instant{}, plain});
  clean_up();
  lock::Event all;
  all.granted = stage_ == Stage::acquiring && votes(BootClock::now()) >= quorum_;  // late answers made it so
  for (auto& member : members_) {
    if (member->is_running() || (member.get() != waits_at_ && stage_ != Stage::holding)) continue;
    const auto event = member->voter().drain();
    if (!event) {
      // A waiter comes back at once, or goes elsewhere; but not where each connection breaks behind its answer. A
      // holder renews all in time, and finds out then.
      if (member.get() != waits_at_) continue;
      const auto now = BootClock::now();
      backoff_.broke(std::exchange(broke_at_, now));
      all.look_at = std::min(all.look_at, now + backoff_.next());
      continue;
    }
    all.granted |= event->granted;
    all.touched |= event->touched;
    all.look_at = std::min(all.look_at, event->look_at);
  }
  return all;
}

std::string rank_of(std::string_view wire_key, std::string_view server) {
  const auto hash = base::hash_of(server, base::hash_of("\n", base::hash_of(wire_key)));
  std::string rank;
  for (int shift = 56; shift >= 0; shift -= 8) base::append_hex(rank, static_cast<unsigned char>(hash >> shift));
  return rank;
}

}  // namespace rlock::quorum
