#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/wait/boot_timer.hpp"
#include "base/wait/retry.hpp"
#include "stores/ordered/ordered_store.hpp"
#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/session.hpp"

namespace rlock::zookeeper {

/// A queue is a node, an entry one below it that ends with its session, which is the lease. Neither a ping nor a write
/// is known to extend a session: a follower that was cut off answers both. It is opened again for that, over a new
/// connection, with a write behind it. It can be opened for less than it was made for, and not for more: an entry whose
/// lease is to be longer moves to another session, and keeps its place. So it does where another process that knows the
/// token opens the session in the same moment: a session has one connection at a time, and each would break off the
/// other's, again and again.
class ZookeeperStore final : public ordered::OrderedStore {
 public:
  ZookeeperStore(const Address& address, const std::string& wire_key, base::Duration timeout);
  ZookeeperStore(const ZookeeperStore&) = delete;
  ZookeeperStore& operator=(const ZookeeperStore&) = delete;
  ~ZookeeperStore() override;

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
  base::Duration max_lease() const override { return own_session_ ? lease_ : base::Duration::max(); }

  base::Result<bool> remove(std::span<const ordered::Entry> entries, base::Wait wait) override;
  base::Result<bool> was_released(const std::string& token, base::Wait wait) override;

  base::Result<void> watch(const ordered::Watched& watched, base::Wait wait) override;
  std::vector<pollfd> wait_fds() const override;
  base::Result<ordered::Changes> drain() override;

  base::Result<std::vector<ordered::Queue>> read(std::span<const std::string> wire_keys, std::int64_t most,
                                                 ordered::TimesLeft times, base::Wait wait) override;
  base::Result<std::vector<std::string>> list(const std::string& prefix, base::Wait wait) override;

  std::int64_t now_us() const override;
  base::Duration timeout() const override { return session_.timeout(); }
  const std::string& name() const override { return session_.name(); }

 private:
  using MaybeView = std::optional<ordered::View>;
  using Answers = std::vector<Answer>;
  const Address& address() const { return session_.address(); }
  Owner owner() const { return address().user.empty() ? Owner::world : Owner::creator; }
  std::string queue_path(std::string_view wire_key) const { return address().root + "/q/" + node_name(wire_key); }
  std::string last_runs_path() const { return address().root + "/l"; }
  std::string shard_path(std::string_view wire_key) const {
    return last_runs_path() + "/" + shard_of(node_name(wire_key));
  }
  std::string last_run_path(std::string_view wire_key) const {
    return shard_path(wire_key) + "/" + node_name(wire_key);
  }
  std::string path_of(const EntryName& entry) const { return queue_ + "/" + entry.encode(); }

  /// A queue is made and goes while we enter it; others move our entry while we look for it.
  static constexpr int max_tries = 10;

  // zookeeper_lease.cpp: the session that our entry lives by
  base::Result<Answers> begin(const ordered::Record& record, const std::vector<Request>& reads, base::Wait wait);
  bool is_open_as_us() const;
  base::Error refusal(const ordered::Record& record, base::Duration granted, base::Wait wait);
  base::Result<std::optional<Answers>> open_again(base::Duration timeout, std::vector<Request> requests,
                                                  base::Wait wait);
  base::Result<std::optional<Answers>> ask_for_entry(const ordered::Record& record,
                                                     const std::vector<Request>& requests, base::Wait wait);
  base::Result<bool> find_again(base::Wait wait);
  base::Result<bool> has_moved(base::Wait wait);
  base::Result<Session> session_for(ordered::Record& record, base::Wait wait);
  base::Result<MaybeView> move(const ordered::Record& record, base::Wait wait);
  base::Error grants_less() const;

  // zookeeper_store.cpp: our entry
  base::Result<std::optional<Answers>> ask_as_us(const std::vector<Request>& requests, base::Wait wait);
  base::Result<bool> is_empty(const ordered::Record& record, base::Wait wait);
  base::Result<MaybeView> entered(const Answer& made, const Answer& children, const ordered::Record& record,
                                  base::Wait wait);
  std::vector<Request> with_queue(Request request) const;
  base::Result<MaybeView> proven(std::span<const Answer> answers, base::Wait wait);
  base::Result<MaybeView> view_of(const Answer& children, base::Wait wait);
  base::Result<void> end_holds(std::vector<EntryName>& ahead, base::Wait wait);
  std::string encoded(ordered::Record record) const;
  void forget();

  // zookeeper_leave.cpp: how it ends
  base::Result<bool> leave_unknown(base::Wait wait);
  base::Result<std::vector<Request>> last_writes(const ordered::LeaveOptions& leaving, bool is_first_run,
                                                 base::Wait wait);
  base::Result<Request> marked(base::Wait wait);

  // zookeeper_last_run.cpp
  std::optional<std::string> last_run_in(const Node& node) const;
  base::Result<std::vector<std::string>> last_runs(base::Wait wait);
  base::Result<void> prune(base::Wait wait);

  // zookeeper_watch.cpp
  std::optional<Request> watch_request() const;
  void armed(const Answer& answer);
  base::Result<void> hear(const Event& event);
  bool is_armed() const;
  bool rests();
  base::Instant tells_at() const;

  // zookeeper_read.cpp: what others have
  base::Result<Answers> ask(const std::vector<Request>& requests, base::Wait wait);
  Request decided() const;
  base::Result<void> check_decided(const Answer& answer);
  std::optional<ordered::Listed> adopt(const EntryName& entry, const Node& node);
  std::vector<Request> parents() const;
  base::Result<void> check_parents(std::span<const Answer> answers);
  base::Error no_root() const;
  base::Result<ordered::Queue> queue_of(const std::string& wire_key, const Answer& children, const Answer& last_run,
                                        std::int64_t most, base::Wait wait);
  base::Result<void> read_entries(const std::string& above, std::span<const EntryName> entries, ordered::Queue& queue,
                                  base::Wait wait);
  ordered::Listed listed(const EntryName& name, const Node& node) const;
  base::Result<std::vector<std::string>> children_of(const std::string& path, base::Wait wait);
  void heard_time(std::int64_t ms);

  Session session_;  ///< what is asked over: the one that our entry lives by, or one of its own to read
  std::string wire_key_;
  std::string queue_;                     ///< path
  std::optional<SessionId> own_session_;  ///< that our entry lives by, or is to
  base::Duration asked_{};                ///< it was to be made for
  base::Duration lease_{};                ///< and opened for last
  bool is_open_elsewhere_ = false;        ///< others open it, too

  std::string token_;
  lock::Mode mode_;
  std::optional<EntryName> own_;  ///< our entry, once it is known
  std::uint64_t fence_ = 0;
  std::int32_t version_ = 0;
  base::Instant lasts_until_{};  ///< what another process has asked for
  bool may_be_there_ = false;
  bool lacks_parents_ = false;  ///< our entry's, when somebody looked last

  std::optional<std::vector<ordered::Entry>> held_behind_;  ///< a proof has shown that we hold, with these ahead
  std::map<std::uint32_t, EntryName> known_;                ///< entries of the queue, as of the last answer
  std::optional<ordered::Watched> watched_;
  std::string watched_path_;
  std::uint64_t watched_at_ = 0;  ///< which connection
  base::Backoff rests_{base::Duration(500), base::Duration(10'000)};
  std::optional<base::Instant> rests_until_;  ///< it was lost, which is not told before
  std::optional<std::int32_t> posted_;        ///< the watch is asked for anew
  ordered::Changes changes_;
  base::Instant hold_ends_ = base::never;  ///< the first --hold ahead of us
  mutable base::BootTimer timer_;

  std::int64_t time_us_ = 0;
  base::Instant time_at_{};
};

/// The entries among the names of a queue, in order.
std::vector<EntryName> entries_in(const std::vector<std::string>& names);

}  // namespace rlock::zookeeper
