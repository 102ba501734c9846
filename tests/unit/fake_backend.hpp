#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "base/wait/event.hpp"
#include "lock/backend.hpp"

namespace rlock::lock {

/// A lock without a prefix.
inline Name named(std::string key) { return {key, key}; }

/// A backend whose answers a test lays down beforehand, step by step; what was asked of it is counted. The last answer
/// of a list is used again. May be asked by one thread and told to by another.
class FakeBackend final : public Backend {
 public:
  FakeBackend() : wake_(std::move(*base::Event::open())) {}

  base::Result<Acquired> acquire(const Request&, Queue queue, base::Wait) override {
    const std::lock_guard hold(mutex_);
    acquires.push_back(queue);
    may_hold_ = true;
    return take<base::Result<Acquired>>(acquired);
  }
  base::Result<Ownership> renew(const Request&, Watch watch, base::Wait) override {
    const std::lock_guard hold(mutex_);
    ++renewals;
    unwatched += watch == Watch::no ? 1 : 0;
    return take<base::Result<Ownership>>(renewed);
  }
  base::Result<Ownership> check(const Request&, base::Wait) override {
    const std::lock_guard hold(mutex_);
    ++checks;
    return take<base::Result<Ownership>>(checked);
  }
  base::Result<Released> release(const Request&, const ReleaseOptions&, base::Wait) override {
    ++releases;
    return released.empty() ? Released{ReleaseOutcome::released} : take<base::Result<Released>>(released);
  }
  bool may_hold() const override { return may_hold_; }
  std::vector<pollfd> wait_fds() const override { return {{wake_.fd(), POLLIN, 0}}; }
  base::Result<Event> drain() override {
    const std::lock_guard hold(mutex_);
    if (!is_noisy) wake_.clear();
    if (std::exchange(is_broken_, false)) return base::fail(base::ErrorCode::unreachable, "broken");
    if (events_.empty()) return Event{};
    const auto event = events_.front();
    events_.pop_front();
    return event;
  }
  base::Result<std::vector<Inspection>> inspect(std::span<const std::string>, std::int64_t, base::Wait) override {
    return std::vector<Inspection>{};
  }
  base::Result<std::vector<std::string>> list(const std::string&, base::Wait) override {
    return std::vector<std::string>{};
  }
  base::Result<std::vector<std::string>> warnings(base::Wait) override { return std::vector<std::string>{}; }
  base::Duration timeout() const override { return base::Duration(200); }
  const std::string& name() const override { return name_; }

  void tell(const Event& event) {
    const std::lock_guard hold(mutex_);
    events_.push_back(event);
    wake_.raise();
  }
  /// The connection: drain() says so once.
  void break_connection() {
    const std::lock_guard hold(mutex_);
    is_broken_ = true;
    wake_.raise();
  }
  int count(const int& counter) const {
    const std::lock_guard hold(mutex_);
    return counter;
  }

  // Made when they are asked for: an instant in them is that of the question.
  std::deque<std::function<base::Result<Acquired>()>> acquired;
  std::deque<std::function<base::Result<Ownership>()>> renewed;
  std::deque<std::function<base::Result<Ownership>()>> checked;
  std::deque<std::function<base::Result<Released>()>> released;  ///< none: it was
  bool is_noisy = false;  ///< from the first event on there is always something to read
  std::vector<Queue> acquires;
  int renewals = 0;
  int unwatched = 0;  ///< of the renewals, those after which nobody tells of changes
  int checks = 0;
  int releases = 0;

 private:
  template <class Answer>
  static Answer take(std::deque<std::function<Answer()>>& answers) {
    const auto answer = answers.front();
    if (answers.size() > 1) answers.pop_front();
    return answer();
  }

  mutable std::mutex mutex_;
  base::Event wake_;
  std::deque<Event> events_;
  bool is_broken_ = false;
  bool may_hold_ = false;
  std::string name_ = "fake";
};

}  // namespace rlock::lock
