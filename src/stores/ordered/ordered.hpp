#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lock/backend.hpp"
#include "stores/ordered/claims.hpp"
#include "stores/ordered/ordered_store.hpp"

namespace rlock::ordered {

/// A lock on a store that a majority decides. Each holder and each waiter has an entry there, and the order of the
/// entries says who holds; nothing else does, so that no two can think so at once. A lease counts from an enter() or a
/// confirm() alone (R45 of tests/PROOFS.md).
class Ordered final : public lock::Backend {
 public:
  explicit Ordered(std::unique_ptr<OrderedStore> store) : store_(std::move(store)) {}

  base::Result<lock::Acquired> acquire(const lock::Request& request, lock::Queue queue, base::Wait wait) override;
  bool may_hold() const override { return store_->may_be_there(); }
  base::Result<lock::Ownership> renew(const lock::Request& request, lock::Watch watch, base::Wait wait) override;
  base::Result<lock::Ownership> check(const lock::Request& request, base::Wait wait) override;
  base::Result<lock::Released> release(const lock::Request& request, const lock::ReleaseOptions& options,
                                       base::Wait wait) override;

  std::vector<pollfd> wait_fds() const override { return store_->wait_fds(); }
  base::Result<lock::Event> drain() override;

  base::Result<std::vector<lock::Inspection>> inspect(std::span<const std::string> wire_keys, std::int64_t max_waiters,
                                                      base::Wait wait) override;
  base::Result<std::vector<std::string>> list(const std::string& prefix, base::Wait wait) override;
  base::Result<std::vector<std::string>> warnings(base::Wait) override { return std::vector<std::string>(); }
  base::Duration timeout() const override { return store_->timeout(); }
  const std::string& name() const override { return store_->name(); }

 private:
  base::Wait bounded(base::Wait wait) const { return wait.at_most(base::BootClock::now() + store_->timeout()); }

  base::Result<std::optional<View>> enter(const lock::Request& request, lock::Queue queue, base::Wait wait);
  base::Result<std::optional<View>> look_again(const lock::Request& request, base::Wait wait);
  base::Result<std::optional<View>> take_up(const lock::Request& request, base::Wait wait);
  base::Result<std::optional<View>> confirm(Record record, base::Wait wait);
  Record record_of(const lock::Request& request, Record::State state) const;
  base::Result<std::optional<lock::AlreadySucceeded>> succeeded(const lock::Request& request, base::Wait wait);

  base::Result<lock::Busy> wait_behind(const lock::Request& request, View view, base::Wait wait);
  base::Result<lock::Busy> busy_of(const lock::Request& request, base::Wait wait, std::optional<Listed> head = {});
  void rest_behind(std::span<const Listed> heads);
  base::Result<void> watch(const Watched& watched, base::Wait wait);
  base::Result<void> claim(const std::string& token, std::vector<Listed> heads, base::Wait wait);
  base::Result<bool> keep_alive(base::Wait wait);
  base::Duration lease_of_waiter() const;
  bool is_near() const;
  bool may_rest() const;
  base::Result<bool> rests(base::Wait wait);
  base::Duration pause() const;
  base::Instant next_look() const;
  base::Instant look_at_claim() const;

  base::Result<std::optional<View>> renewed(const lock::Request& request, base::Wait wait);
  base::Result<lock::Ownership> without_us(const lock::Request& request, base::Wait wait);
  base::Result<lock::Released> force(const lock::Request& request, base::Wait wait);
  base::Result<LeaveOptions> leave_options(const lock::Request& request, const lock::ReleaseOptions& options,
                                           base::Wait wait);
  base::Result<Queue> queue_of(const lock::Request& request, std::int64_t most, base::Wait wait);

  std::unique_ptr<OrderedStore> store_;
  /// What our entry says of itself, as far as we know; nullopt: we have none.
  std::optional<Record> record_;
  bool is_to_tell_ = false;    ///< that the lock is touched
  bool is_made_here_ = false;  ///< not one that another process made
  lock::Mode mode_;
  std::vector<Entry> ahead_;        ///< as of the last view, without those that have gone since
  bool is_unclear_ = false;         ///< whether they still are
  std::optional<Watched> watched_;  ///< nullopt: no watch stands
  /// While these stand, and no watch tells of anything, there is nothing to look for; empty: look.
  std::vector<Entry> resting_behind_;
  lock::Busy busy_;  ///< what was met last
  base::Instant looked_at_{};
  base::Instant kept_alive_at_{};  ///< when our entry got its lease, as a waiter
  Claims claims_;
  bool release_unanswered_ = false;
};

}  // namespace rlock::ordered
