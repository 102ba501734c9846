#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stores/etcd/gateway.hpp"
#include "stores/etcd/keys.hpp"
#include "stores/etcd/leases.hpp"
#include "stores/ordered/ordered_store.hpp"

namespace rlock::etcd {

/// Locks in etcd. An entry is a key under a lease (Keys), and its place the revision that made it.
///
/// No lease of an entry is prolonged: a renewal is a new lease, and a transaction that moves the entry to it. So
/// neither a member that is wrong about an old lease nor a request that comes late can end an entry too early:
///
/// - A request that makes an entry is sent when the grant of its lease is answered, and that lease is revoked when we
///   leave: where it comes later than that, its lease is gone, and it does nothing.
/// - A request that moves the entry names the version that it moves: where it comes later than another, it does
/// nothing.
class EtcdStore final : public ordered::OrderedStore {
 public:
  /// prefix: see Keys.
  EtcdStore(std::unique_ptr<Client> client, std::string prefix, std::string wire_key);

  base::Result<std::optional<ordered::View>> enter(const std::string& token, lock::Mode mode,
                                                   const ordered::Record& record, ordered::Join join,
                                                   base::Wait wait) override;
  base::Result<std::optional<ordered::Listed>> find(const std::string& token, base::Wait wait) override;
  base::Result<std::optional<ordered::View>> confirm(const ordered::Record& record, base::Wait wait) override;
  base::Result<std::optional<ordered::View>> look(base::Wait wait) override;
  base::Result<bool> stand(std::span<const ordered::Entry> entries, base::Wait wait) override;
  base::Result<bool> keep_alive(base::Wait wait) override;
  base::Result<bool> leave(const ordered::LeaveOptions& leaving, base::Wait wait) override;
  bool may_be_there() const override { return may_be_there_; }

  base::Result<bool> remove(std::span<const ordered::Entry> entries, base::Wait wait) override;
  base::Result<bool> was_released(const std::string& token, base::Wait wait) override;

  base::Result<void> watch(const ordered::Watched& watched, base::Wait wait) override;
  std::vector<pollfd> wait_fds() const override { return gateway_.client().wait_fds(); }
  base::Result<ordered::Changes> drain() override;

  base::Result<std::vector<ordered::Queue>> read(std::span<const std::string> wire_keys, std::int64_t most,
                                                 ordered::TimesLeft times, base::Wait wait) override;
  base::Result<std::vector<std::string>> list(const std::string& prefix, base::Wait wait) override;

  std::int64_t now_us() const override { return gateway_.client().now_us(); }
  base::Duration timeout() const override { return gateway_.client().timeout(); }
  const std::string& name() const override { return gateway_.client().name(); }

 private:
  /// What came of one request to move our entry.
  struct Moved {
    enum class How { moved, gone, again } how = How::again;
    ordered::View view{};
  };
  /// What is put beside an entry that goes, and the leases for that.
  struct Left {
    std::vector<nlohmann::json> puts;
    std::vector<Call> grants;
  };
  /// An entry that holds, of those that were read, and its lease.
  struct Held {
    std::size_t queue = 0;
    std::size_t entry = 0;
    LeaseId lease = 0;
  };

  base::Result<Lease> grant_for(const ordered::Record& record, base::Wait wait);
  base::Result<bool> is_empty(base::Wait wait);
  base::Result<Outcome> make_entry(const Lease& lease, const ordered::Record& record, ordered::Join join,
                                   base::Wait wait);
  base::Result<std::optional<ordered::View>> found_instead(const Outcome& outcome, const ordered::Record& record,
                                                           ordered::Join join, base::Wait wait);
  base::Result<std::optional<ordered::View>> move(ordered::Record record, const std::vector<nlohmann::json>& more,
                                                  base::Wait wait);
  base::Result<Moved> try_to_move(const ordered::Record& record, const std::vector<nlohmann::json>& more,
                                  std::optional<Lease>& lease, base::Wait wait);
  base::Result<Moved> moved(const Answer& answer, std::size_t steps, std::optional<Lease>& lease);
  base::Result<std::vector<Answer>> flight_to_move(const ordered::Record& record,
                                                   const std::vector<nlohmann::json>& more, std::optional<Lease>& lease,
                                                   base::Wait wait);

  Left left_behind(const ordered::LeaveOptions& leaving) const;
  base::Result<void> grant_shared(const Left& left, base::Wait wait);
  base::Result<bool> erase(const Left& left, base::Wait wait);
  base::Result<bool> erase_at_least(const Left& left, base::Wait wait);
  base::Result<void> revoke_others(base::Wait wait);
  void took_away(const StepResult& ended);
  void revoke_needless(base::Wait wait);

  void name_entry(const std::string& token, std::string key);
  bool adopt(const KeyValue& entry);
  std::vector<LeaseId> leases_of_others(const KeyValue& entry) const;
  void forget_entry();
  ordered::View view_of(const Outcome& outcome, const StepResult& names, base::Instant sent);
  static std::optional<ordered::Listed> head_of(const StepResult& first);

  static ordered::Entry to_entry(const KeyValue& entry);
  static ordered::Listed to_listed(const KeyValue& entry);
  base::Result<void> read_some(std::span<const std::string> wire_keys, std::int64_t most,
                               std::vector<ordered::Queue>& queues, std::vector<Held>& held, base::Wait wait);
  base::Result<Outcome> read_alone(const std::string& wire_key, std::int64_t most, base::Wait wait);
  static void append(const Outcome& outcome, std::int64_t most, std::vector<ordered::Queue>& queues,
                     std::vector<Held>& held);
  static void append(const StepResult& entries, const StepResult& last_run, std::int64_t most,
                     std::vector<ordered::Queue>& queues, std::vector<Held>& held);

  Gateway gateway_;
  Keys keys_;
  std::string wire_key_;
  Range queue_;

  std::string token_;            ///< of our entry
  std::string key_;              ///< of our entry
  std::uint64_t fence_ = 0;      ///< of our entry; 0: not known
  std::uint64_t version_ = 0;    ///< the last one that we know of; 0: none
  LeaseId lease_ = 0;            ///< under which it was then
  base::Instant lasts_until_{};  ///< somebody else has asked for a lease that may last until then
  /// Under which it is or was, as far as others have asked for them and it says so.
  std::vector<LeaseId> of_others_;
  bool may_be_there_ = false;
  Leases leases_;
  std::vector<LeaseId> needless_;  ///< of entries that we have ended, as far as others have asked for them

  std::uint64_t revision_ = 0;  ///< of the last view
  std::optional<ordered::Watched> watched_;
};

}  // namespace rlock::etcd
