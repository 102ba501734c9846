#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/fiber.hpp"
#include "lock/lease.hpp"
#include "stores/quorum/voter.hpp"

namespace rlock::quorum {

/// A server that does not answer for `patience` is passed over, and the others are asked before it for `skip_time`.
inline constexpr base::Duration patience{50};
inline constexpr base::Duration skip_time{2'000};

/// What a Quorum asks all its servers for.
struct VoteRequest {
  std::optional<lock::Request> request;
  std::uint64_t round = 0;  ///< counted, to tell the answers to this round
  std::uint64_t fence = 0;  ///< of the lease
  std::int64_t ticket = 0;  ///< the first that we ever got, at any server
};

/// One of the servers of a Quorum, and what we know of our vote there. One request at a time is under way: it runs on a
/// fiber, and what it was answered stands here when it has ended. What the answers mean together is the Quorum's.
struct Member {
  Member(std::unique_ptr<Voter> server, VoteRequest& bid) : voter(std::move(server)), asked_for_(bid) {}

  /// What the last answer was.
  enum class Answer { nothing, yes, held, nobody, young, done, failed };

  /// Whether our vote counts.
  bool counts(base::Instant now) const { return now < deadline; }
  /// ... and need not be renewed yet.
  bool is_fresh(base::Instant now) const { return now < renew_at(counts_from) && counts(now); }
  /// When a vote that counts from `from` is to be renewed.
  base::Instant renew_at(base::Instant from) const { return from + lock::renewal_pause(asked_for_.request->ttl); }
  /// Whether it has answered, and may be asked again.
  bool can_be_used(base::Instant now) const { return !call.is_running() && !error && now >= silent_until; }
  /// Our vote is gone.
  void lose();

  /// These ask the server, and end by `until`. False where another request is under way, or nothing may be asked.
  bool ask(base::Instant until, std::function<void(base::Wait)> step);
  bool acquire(lock::Queue queue, base::Instant until);
  void renew(lock::Watch watch, base::Instant until);
  void check(base::Instant until);
  /// To the fence of the lease.
  void raise_fence(base::Instant until);
  void release(const lock::ReleaseOptions& options, base::Instant until);
  /// Releases a vote that was got behind the first refusal, or that came late and is not wanted.
  void give_back(base::Instant until);
  /// Whether there is something to give back, and it may be tried.
  bool has_to_give_back(base::Instant now) const {
    const bool queues = busy && busy->ticket != 0;
    return !call.is_running() && now >= silent_until && (deadline != base::Instant{} || queues || is_unclean);
  }

  std::unique_ptr<Voter> voter;
  std::uint64_t round = 0;               ///< of the request under way, or of the last one
  base::Instant asked{};                 ///< when it was sent
  Answer last_answer = Answer::nothing;  ///< to the last one
  std::optional<base::Error> error;
  std::optional<lock::Busy> busy;
  std::optional<lock::Released> released;
  std::optional<lock::AlreadySucceeded> done;
  bool is_to_ask = false;  ///< when what is under way has ended
  bool is_to_release = false;
  std::optional<lock::Ownership> ownership;
  base::Instant counts_from{};    ///< of our vote
  base::Instant deadline{};       ///< of our vote; past: no vote
  std::uint64_t fence = 0;        ///< that came with it
  std::string run_id;             ///< of the server's run that gave our vote; empty if it is denied
  bool is_fence_raised = false;   ///< every later fence there is larger than that of our lease
  base::Instant skipped_until{};  ///< it did not answer: others first
  base::Instant silent_until{};   ///< a message of our token may be under way to it: no vote is asked for
  bool was_released = false;      ///< it has a tombstone of our token: the last renewal or check found that
  bool is_unclean = false;        ///< the server may hold something for us that we do not count: to be given back
  base::Fiber call;               ///< the request that is under way; it ends before what it writes to

 private:
  void heard(base::Result<lock::Acquired> acquired);
  void heard(base::Result<lock::Ownership> ownership, base::Instant vote_before);
  void keep_silent();
  bool clean(const lock::Request& request, base::Wait wait);

  VoteRequest& asked_for_;
};

}  // namespace rlock::quorum
