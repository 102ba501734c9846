#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/wait/fiber.hpp"
#include "lock/lease.hpp"
#include "stores/quorum/voter.hpp"

namespace rlock::quorum {

/// A server that has not answered for this long is passed over, and the others are asked before it for `skip_time`.
inline constexpr base::Duration pass_over_after{50};
inline constexpr base::Duration skip_time{2'000};

/// What a Quorum asks all its servers for.
struct VoteRequest {
  std::optional<lock::Request> request;
  std::uint64_t round = 0;  ///< counted, to tell the answers to this round
  std::uint64_t fence = 0;  ///< of the lease
  std::int64_t ticket = 0;  ///< the first that we ever got, at any server
};

/// Our lease on one server.
struct Vote {
  base::Instant counts_from{};
  base::Instant deadline{};  ///< past: no vote
  std::uint64_t fence = 0;   ///< that came with it
  std::string run_id;        ///< of the server's run that gave it; empty if it is denied
};

/// One of the servers of a Quorum, our vote there, and what the server answered last. One request at a time is under
/// way: it runs on a fiber. What the answers mean together is the Quorum's.
class Member {
 public:
  enum class Answer { nothing, yes, held, nobody, young, done, failed };
  using Call = std::function<base::Result<Answer>(base::Wait)>;

  /// asked_for: of the Quorum; changes with each round.
  Member(std::unique_ptr<Voter> voter, VoteRequest& asked_for) : voter_(std::move(voter)), asked_for_(asked_for) {}

  Voter& voter() const { return *voter_; }
  const std::string& name() const { return voter_->name(); }

  /// These ask the server, and end by `until`. False where another request is under way, or nothing may be asked.
  bool ask(base::Instant until, Call call);
  bool acquire(lock::Queue queue, base::Instant until);
  void renew(lock::Watch watch, base::Instant until);
  void check(base::Instant until);
  /// To the fence of the lease.
  void raise_fence(base::Instant until);
  bool release(const lock::ReleaseOptions& options, base::Instant until);
  /// Releases a vote that was got behind the first refusal, or that came late and is not wanted.
  void release_vote(base::Instant until);
  /// Whether there is something to release, and it may be tried.
  bool has_to_release(base::Instant now) const;

  /// The request under way.
  base::Fiber& call() { return call_; }
  const base::Fiber& call() const { return call_; }
  bool is_running() const { return call_.is_running(); }
  base::Instant asked_at() const { return asked_at_; }  ///< when it was sent, or the last one
  /// Ends it without an answer.
  void cancel();
  /// It counts as one of this round.
  void join_round() { round_ = asked_for_.round; }
  bool is_of_round() const { return round_ == asked_for_.round; }
  bool is_awaited() const { return is_of_round() && is_running(); }

  /// What the last request was answered; `nothing` while one is under way.
  Answer answer() const { return answer_; }
  bool has_answered() const { return is_of_round() && answer_ != Answer::nothing; }
  void forget_answer() { answer_ = Answer::nothing; }
  const std::optional<base::Error>& error() const { return error_; }
  /// The answer to the last request of that kind; empty once forgotten.
  const std::optional<lock::Busy>& busy() const { return busy_; }
  const std::optional<lock::AlreadySucceeded>& done() const { return done_; }
  const std::optional<lock::Ownership>& ownership() const { return ownership_; }
  void forget_ownership() { ownership_.reset(); }
  const std::optional<lock::Released>& released() const { return released_; }
  void forget_released() { released_.reset(); }
  /// It has a tombstone of our token: the last renewal or check found that.
  bool was_released() const { return was_released_; }

  const Vote& vote() const { return vote_; }
  bool counts(base::Instant now) const { return now < vote_.deadline; }
  /// ... and need not be renewed yet.
  bool is_fresh(base::Instant now) const { return now < renew_at(vote_.counts_from) && counts(now); }
  /// When a vote that counts from `from` is to be renewed.
  base::Instant renew_at(base::Instant from) const { return from + lock::renewal_pause(asked_for_.request->ttl); }
  /// Whether every later fence there is larger than that of the lease.
  bool knows_fence() const { return vote_.fence == asked_for_.fence || raised_to_ == asked_for_.fence; }
  /// Our vote is gone.
  void lose();

  /// It did not answer: the others are asked first for a while.
  void pass_over() { passed_over_until_ = base::BootClock::now() + skip_time; }
  base::Instant passed_over_until() const { return passed_over_until_; }
  /// A message of our token may be under way to it: no vote is asked for until then.
  base::Instant left_alone_until() const { return left_alone_until_; }
  /// Whether it has answered, and may be asked again.
  bool can_be_used(base::Instant now) const { return !is_running() && !error_ && now >= left_alone_until_; }

 private:
  Answer heard(lock::Acquired acquired);
  Answer heard(lock::Ownership ownership, base::Instant vote_before);
  void leave_alone();
  base::Result<void> clean(const lock::Request& request, base::Wait wait);

  std::unique_ptr<Voter> voter_;
  VoteRequest& asked_for_;
  std::uint64_t round_ = 0;  ///< of the request under way, or of the last one
  base::Instant asked_at_{};
  Answer answer_ = Answer::nothing;
  std::optional<base::Error> error_;
  std::optional<lock::Busy> busy_;
  std::optional<lock::AlreadySucceeded> done_;
  std::optional<lock::Ownership> ownership_;
  std::optional<lock::Released> released_;
  bool was_released_ = false;
  Vote vote_;
  std::uint64_t raised_to_ = 0;  ///< the fence that the server was last raised to under this vote; 0: none
  base::Instant passed_over_until_{};
  base::Instant left_alone_until_{};
  bool is_unclean_ = false;  ///< the server may hold something for us that we do not count: to be released
  base::Fiber call_;         ///< the last of all: it ends before what it writes to
};

}  // namespace rlock::quorum
