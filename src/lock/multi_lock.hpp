#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/wait/fiber.hpp"
#include "lock/holding.hpp"
#include "lock/lease.hpp"
#include "lock/observer.hpp"
#include "lock/patience.hpp"

namespace rlock::lock {

/// The keys that one run holds together, one or several, each with a backend of its own. They are acquired one after
/// the other in the order of their wire names, the same for all clients, so that no two can wait for each other. Those
/// acquired already are renewed while a later one is waited for. As a Holding it is one lease, which lasts as long as
/// all of its keys do: what it does, it does for all keys side by side, in one thread.
///
/// With one key it passes everything on and costs nothing.
class MultiLock final : public Holding {
 public:
  using Open = std::function<std::unique_ptr<Backend>(const Name&)>;

  /// open: makes a backend, which is not connected yet.
  MultiLock(LeaseTerms terms, Open open);
  ~MultiLock() override;

  /// A key for acquire(). backend: one that has acquired nothing yet. Messages name request.name.key.
  void add(Request request, std::unique_ptr<Backend> backend);
  /// A key that another process acquired, under the token of this request, and that it releases: renewed here.
  void add_held(Request request, std::unique_ptr<Backend> backend, const Lease& lease);

  enum class Outcome {
    held,
    busy,  ///< one of them was, until the time to wait was over: see busy_key()
    done,  ///< one of them has nothing to do: see done()
    lost,  ///< one of add_held() was lost meanwhile: see concerned_key()
  };
  /// Acquires all keys of add(), or none, under one new token. `patience` counts for all together, as in
  /// Acquisition::acquire(). If a key is lost while a later one is waited for, all are released and it begins again.
  /// observer: may be nullptr.
  base::Result<Outcome> acquire(Patience patience, base::Poller& poller, Observer* observer = nullptr);
  /// After anything but Outcome::held: whether a release had no answer, so that a server may hold one of these keys.
  bool is_left() const;

  /// Releases them before the command has run, by `until`. After a signal, half a second is left for this.
  base::Result<void> release_acquired(base::Instant until, base::Poller& poller);

  bool empty() const { return parts_.empty(); }
  /// Whether some of them are to be released by us.
  bool has_own() const;
  /// Of the keys of add().
  const std::string& token() const { return token_; }
  /// Of this key.
  std::uint64_t fence(const std::string& key) const;
  /// That of the first key that was added.
  const Request& request() const override;
  /// The earliest of all, with the fence of the first key that was added.
  Lease lease() const;

  /// After Outcome::busy: which key it was, and its holder.
  const std::string& busy_key() const { return busy_key_; }
  const std::optional<Busy>& met() const { return met_; }
  /// After Outcome::done, which a key may have whose request says `once`.
  const std::optional<AlreadySucceeded>& done() const { return done_; }
  /// The key that was lost, or that could not be renewed or released. Any thread may ask.
  const std::string& concerned_key() const;

  base::Result<Ownership> renew(Watch watch, base::Wait wait) override;
  base::Result<Ownership> check(base::Wait wait) override;
  /// Those of add_held() stay. A key that was released is not released again.
  base::Result<Released> release(base::Wait wait) override;
  std::vector<pollfd> wait_fds() const override;
  base::Result<Event> drain() override;
  const std::string& name() const override;

  /// Who has concerned_key(), after a release that found it with another.
  base::Result<Inspection> inspect_concerned(base::Wait wait);

  /// What is sent with the release of each key of add() from here on, which `options` makes of the key's holder.
  void release_with(const std::function<ReleaseOptions(const Who&)>& options);
  /// To release the same keys in another process.
  std::unique_ptr<MultiLock> copy(const Open& open) const;

 private:
  struct Part;
  class RenewingPoller;

  base::Result<Outcome> acquire_all(Patience patience, base::Poller& poller, Observer* observer);
  base::Result<void> refresh(base::Instant waited_until, base::Instant until, base::Poller& poller);
  void renew_held();
  base::Instant next_renewal() const;
  const Part* lost() const;

  std::vector<base::Fiber*> calls() const;
  bool is_any_running() const;
  void begin();
  base::Result<void> await_calls(base::Wait wait);
  base::Result<Ownership> ownership();
  void concerns(const Part& part);

  LeaseTerms terms_;
  Open open_;
  std::vector<std::unique_ptr<Part>> parts_;  ///< in the order of add() and add_held()
  std::string token_;
  std::string busy_key_;
  std::optional<Busy> met_;
  std::optional<AlreadySucceeded> done_;
  base::Instant renewing_since_{};  ///< the first try of the renewal that is not done yet
  std::atomic<std::size_t> concerned_{0};
  std::thread::id thread_ = std::this_thread::get_id();  ///< which drives the calls under way
};

}  // namespace rlock::lock
