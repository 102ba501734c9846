#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/wait/retry.hpp"
#include "stores/quorum/member.hpp"
#include "stores/quorum/voter.hpp"

namespace rlock::quorum {

/// A lock on several independent servers: whoever has the votes of more than half of them holds it. That alone makes it
/// safe; the queue, which stands at one server, gives order.
///
/// A vote is a lease on one server, and counts until the deadline of that lease. The lease on the whole lasts as long
/// as q votes count. All clients go through the servers in one order. A client that did not get enough votes keeps
/// those before the first refusal, which is the first server that said "not yours", releases those behind it, and
/// queues at the refusal. A server that restarted a moment ago may have forgotten a vote, and does not vote until that
/// one has ended. tests/model/quorum.pml checks these rules.
///
/// Servers are asked side by side, in one thread. An answer that comes too late for one step is heard in a later one:
/// the vote counts then, or is released.
///
/// A Member is one server and our vote there. quorum.cpp asks and counts, quorum_acquire.cpp gathers votes,
/// quorum_hold.cpp keeps and releases them, quorum_view.cpp shows what all servers say.
class Quorum final : public lock::Backend {
 public:
  struct Server {
    std::string rank;  ///< the servers of a lock are asked in this order, the same for all clients
    std::unique_ptr<Voter> voter;
  };

  /// timeout: of one server, for messages, and for how long to try.
  Quorum(std::vector<Server> servers, base::Duration timeout);
  ~Quorum() override;

  base::Result<lock::Acquired> acquire(const lock::Request& request, lock::Queue queue, base::Wait wait) override;
  base::Result<lock::Ownership> renew(const lock::Request& request, lock::Watch watch, base::Wait wait) override;
  base::Result<lock::Ownership> check(const lock::Request& request, base::Wait wait) override;
  base::Result<lock::Released> release(const lock::Request& request, const lock::ReleaseOptions& options,
                                       base::Wait wait) override;
  bool may_hold() const override;
  std::vector<pollfd> wait_fds() const override;
  base::Result<lock::Event> drain() override;
  base::Result<std::vector<lock::Inspection>> inspect(std::span<const std::string> wire_keys, std::int64_t max_waiters,
                                                      base::Wait wait) override;
  base::Result<std::vector<std::string>> list(const std::string& prefix, base::Wait wait) override;
  base::Result<std::vector<std::string>> warnings(base::Wait wait) override;
  base::Duration timeout() const override { return timeout_; }
  base::Instant serves_again() const override;
  const std::string& name() const override { return name_; }

 private:
  enum class Stage { idle, acquiring, holding, releasing };
  using Predicate = std::function<bool()>;

  lock::Request begin(const lock::Request& request);
  std::vector<base::Fiber*> calls() const;
  base::Readiness drive(base::Wait wait);
  base::Result<void> finish_calls(base::Wait wait);
  base::Result<void> run_until(base::Wait wait, const Predicate& done, const Predicate& may_leave = {});

  base::Result<void> ask_the_first(lock::Queue queue, base::Wait wait);
  base::Result<void> ask_the_others(base::Wait wait);
  const Member* who_is_done() const;
  base::Result<bool> is_free_but_for(Member& refusal, bool must_know, base::Wait wait);
  base::Result<bool> raise_fence_everywhere(base::Wait wait);
  void wait_at(Member* refusal);
  void renew_votes_ahead();
  base::Result<lock::Acquired> not_acquired();
  base::Result<lock::Acquired> why_not() const;
  base::Result<void> check_distinct() const;
  Member* first_refusal();
  void clean_up();

  template <class T>
  base::Result<std::vector<T>> ask_all(base::Wait wait, const std::function<base::Result<T>(Voter&, base::Wait)>& call,
                                       const std::function<bool(const std::vector<T>&, std::size_t)>& needs_more = {});
  std::size_t votes(base::Instant now) const;
  std::uint64_t largest_fence(base::Instant now) const;
  base::Instant counts_from(base::Instant now) const;
  template <class Is>
  std::size_t count(Is is) const {
    return static_cast<std::size_t>(std::ranges::count_if(members_, [&](const auto& member) { return is(*member); }));
  }
  lock::Ownership not_held(lock::Ownership::Holder holder) const;
  std::unexpected<base::Error> unavailable() const;
  void report_absent() const;

  VoteRequest asked_for_;
  std::vector<std::unique_ptr<Member>> members_;  ///< in the order of this lock
  std::size_t quorum_;
  base::Duration timeout_;
  std::string name_;
  std::thread::id thread_ = std::this_thread::get_id();  ///< which drives the calls under way
  Stage stage_ = Stage::idle;
  bool has_acquired_ = false;       ///< else another process did
  base::Instant renewing_since_{};  ///< the first try of the renewal that is not done yet
  Member* waits_at_ = nullptr;      ///< the first refusal, while we queue there
  base::Instant looked_at_{};       ///< whether another than the first refusal is held
  base::Instant broke_at_{};        ///< the last connection to the first refusal that broke
  base::Backoff backoff_ = base::holders_backoff();
};

/// A number that all clients compute alike from the name of a lock and that of a server, so that different locks have
/// different first servers.
std::string rank_of(std::string_view wire_key, std::string_view server);

}  // namespace rlock::quorum
