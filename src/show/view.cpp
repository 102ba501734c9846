#include "show/view.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/text/glob.hpp"
#include "base/text/text.hpp"
#include "base/wait/retry.hpp"

namespace rlock::show {

using base::Result;
using base::Wait;
using State = lock::Inspection::State;

namespace {

// How many waiters of a lock are listed; more are only counted.
constexpr std::int64_t max_waiters = 1'000;

// A server may list forever.
constexpr base::Duration max_listing = std::chrono::minutes(1);
constexpr std::string_view wild = "*?[";

bool comes_before(const std::string& a, const std::string& b) {
  const int order = ::strverscmp(a.c_str(), b.c_str());
  return order != 0 ? order < 0 : a < b;
}

bool is_in_use(const lock::Inspection& lock) { return lock.is_held() || lock.waiting > 0; }

// In an order: the smaller comes first.
std::int64_t place_of(const lock::Inspection& lock, Order order) {
  constexpr auto last = std::numeric_limits<std::int64_t>::max();
  switch (order) {
    case Order::key:
      break;
    case Order::state:
      return lock.waiting > 0 ? 0 : lock.is_held() ? 1 : 2;
    case Order::held:
      if (!lock.is_held()) return last;
      return lock.holders.empty() || !lock.holders.front().record ? last - 1 : lock.holders.front().record->since_us;
    case Order::waiting:
      return -lock.waiting;
    case Order::last_run:
      return lock.last_run ? -lock.last_run->ended_us : last;
  }
  return 0;
}

bool is_for_verbs(const std::string& key) { return key.size() <= lock::max_key && base::printable(key) == key; }

}  // namespace

Result<std::vector<ListedLock>> View::look(lock::Backend& backend, Wait wait) {
  if (kind_ == Kind::unknown && key_.empty()) kind_ = Kind::list;
  if (kind_ != Kind::list) {
    const bool may_be_pattern = kind_ == Kind::unknown && key_.find_first_of(wild) != std::string::npos;
    auto snapshots = look_at({key_}, backend, max_waiters, wait);
    // Where what keeps that one lock is away, others that match may be there: of a Cluster.
    const bool is_away = !snapshots && base::may_pass(snapshots.error());
    if (!snapshots && !(may_be_pattern && is_away)) return std::unexpected(std::move(snapshots).error());
    if (snapshots) kind_ = may_be_pattern && is_nothing(snapshots->front().lock) ? Kind::list : Kind::one;
    if (kind_ == Kind::one && snapshots->front().lock.unread) {
      return std::unexpected(*std::move(snapshots->front().lock.unread));
    }
    if (kind_ == Kind::one) return snapshots;
  }
  auto keys = RLOCK_TRY(list(backend, wait));
  auto snapshots = RLOCK_TRY(look_at(std::move(keys), backend, of_list_ == Queues::whole ? max_waiters : 1, wait));
  std::erase_if(snapshots, [&](const ListedLock& snapshot) {
    return is_nothing(snapshot.lock) || (selection_.is_in_use && !is_in_use(snapshot.lock));
  });
  // The keys are in order already.
  std::ranges::stable_sort(snapshots, {},
                           [&](const ListedLock& snapshot) { return place_of(snapshot.lock, selection_.order); });
  return snapshots;
}

Result<std::vector<std::string>> View::keys(lock::Backend& backend, Wait wait) {
  // Under an empty prefix only a look tells a lock from other data.
  if (key_.empty() && !prefix_.empty() && selection_.order == Order::key && !selection_.is_in_use) {
    auto keys = RLOCK_TRY(list(backend, wait));
    std::erase_if(keys, [](const std::string& key) { return !is_for_verbs(key); });
    return keys;
  }
  const auto snapshots = RLOCK_TRY(look(backend, wait));
  return keys_of(snapshots);
}

std::vector<std::string> View::keys_of(std::span<const ListedLock> snapshots) const {
  std::vector<std::string> keys;
  for (auto& snapshot : snapshots) {
    if (!is_nothing(snapshot.lock) && is_for_verbs(snapshot.key)) keys.push_back(snapshot.key);
  }
  return keys;
}

Result<std::vector<std::string>> View::list(lock::Backend& backend, Wait wait) const {
  // What stands before the first special character the server can look for.
  const auto head = key_.substr(0, key_.find_first_of("*?[\\"));
  auto keys = RLOCK_TRY(backend.list(prefix_ + head, wait.at_most(base::BootClock::now() + max_listing)));
  for (auto& key : keys) key.insert(0, head);
  if (!key_.empty()) std::erase_if(keys, [&](const std::string& key) { return !base::matches(key_, key); });
  std::erase(keys, "");  // other data: no lock can have that key
  std::ranges::sort(keys, comes_before);
  return keys;
}

Result<std::vector<ListedLock>> View::look_at(std::vector<std::string> keys, lock::Backend& backend,
                                              std::int64_t waiters, Wait wait) const {
  std::vector<std::string> wire_keys;
  wire_keys.reserve(keys.size());
  for (const auto& key : keys) wire_keys.push_back(prefix_ + key);
  auto locks = RLOCK_TRY(backend.inspect(wire_keys, waiters, wait));
  std::vector<ListedLock> snapshots;
  snapshots.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) snapshots.push_back({std::move(keys[i]), std::move(locks[i])});
  return snapshots;
}

// A lock may have gone since it was listed. Without a prefix, a string without a ttl is other data, not a lock.
bool View::is_nothing(const lock::Inspection& lock) const {
  if (lock.waiting > 0 || lock.last_run) return false;
  return lock.state == State::free || (prefix_.empty() && lock.state == State::foreign && lock.is_endless());
}

}  // namespace rlock::show
