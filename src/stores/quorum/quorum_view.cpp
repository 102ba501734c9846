#include <algorithm>
#include <set>
#include <utility>

#include "stores/quorum/quorum.hpp"

namespace rlock::quorum {

using namespace std::chrono_literals;
using base::Duration;
using base::Instant;
using base::Result;
using base::Wait;

// What each server that answers in time says; fewer than q answers are a failure. needs_more: of the answers, and how
// many may still come: whether these are to be waited for as long as may be.
template <class T>
Result<std::vector<T>> Quorum::ask_all(Wait wait, const std::function<Result<T>(Voter&, Wait)>& call,
                                       const std::function<bool(const std::vector<T>&, std::size_t)>& needs_more) {
  ++asked_for_.round;
  std::vector<T> answers;
  for (auto& member : members_) {
    member->ask(wait.until(), [&, &voter = member->voter()](Wait own) -> Result<Member::Answer> {
      answers.push_back(RLOCK_TRY(call(voter, own)));
      return Member::Answer::yes;
    });
  }
  const auto may_leave = [&] {
    if (answers.size() < quorum_ || !needs_more) return answers.size() >= quorum_;
    return !needs_more(answers, count([&](const Member& m) { return m.is_awaited(); }));
  };
  const auto ended = run_until(wait, [] { return false; }, may_leave);
  for (auto& member : members_) {
    member->cancel();  // later there would be nowhere to put its answer
  }
  RLOCK_TRY(ended);
  if (answers.size() < quorum_) return unavailable();
  return answers;
}

Result<std::vector<lock::Inspection>> Quorum::inspect(std::span<const std::string> wire_keys, std::int64_t max_waiters,
                                                      Wait wait) {
  auto servers = RLOCK_TRY(ask_all<std::vector<lock::Inspection>>(
      wait, [&](Voter& voter, Wait own) { return voter.inspect(wire_keys, max_waiters, own); },
      [&](const std::vector<std::vector<lock::Inspection>>& said, std::size_t missing) {
        std::vector<const lock::Inspection*> snapshots(said.size());
        for (std::size_t key = 0; key < wire_keys.size(); ++key) {
          std::ranges::transform(said, snapshots.begin(), [&](const auto& server) { return &server[key]; });
          if (lock::may_gain_majority(snapshots, missing, members_.size())) return true;
        }
        return false;
      }));
  std::vector<lock::Inspection> result;
  for (std::size_t key = 0; key < wire_keys.size(); ++key) {
    std::vector<lock::Inspection> snapshots;
    for (auto& server : servers) snapshots.push_back(std::move(server[key]));
    result.push_back(lock::merged(std::move(snapshots), members_.size()));
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
    if (member->error()) all.push_back(member->error()->message + "; a majority is left without it");
  }
  return all;
}

}  // namespace rlock::quorum
