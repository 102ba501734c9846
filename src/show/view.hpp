#pragma once

#include <span>
#include <string>
#include <vector>

#include "lock/backend.hpp"
#include "show/selection.hpp"

namespace rlock::show {

/// A lock in the list that status prints.
struct ListedLock {
  std::string key;
  lock::Inspection lock;
};

/// What status looks at: one KEY, all keys that match a pattern, or all of the prefix. A KEY with one of `*?[` in it is
/// a pattern unless a lock of just that name is held, waited for or remembered; the first look decides. Writes nothing.
class View {
 public:
  /// Which waiters a look at many locks lists: all of each queue, or only the first; all are counted in any case.
  enum class Queues { whole, first };

  /// key: the KEY or pattern; empty: all. prefix: what stands before it on the server. selection: of many.
  View(std::string key, std::string prefix, Queues of_list, Selection selection)
      : key_(std::move(key)), prefix_(std::move(prefix)), of_list_(of_list), selection_(selection) {}

  /// The one lock, free or not; or those that are held or waited for, or whose last run the server remembers, as far as
  /// the selection has them, in its order.
  base::Result<std::vector<ListedLock>> look(lock::Backend& backend, base::Wait wait);
  /// The keys alone, as keys_of() has them, without a look at each lock where that can be left out: one may have become
  /// free meanwhile.
  base::Result<std::vector<std::string>> keys(lock::Backend& backend, base::Wait wait);

  /// Those of a look that are not free and forgotten. For programs, who give them to other verbs: left out is what no
  /// KEY can be, and what printable() would change, since a terminal may show them.
  std::vector<std::string> keys_of(std::span<const ListedLock> snapshots) const;

  /// After a look: whether it is of one KEY.
  bool is_of_one() const { return kind_ == Kind::one; }
  /// "" for all.
  const std::string& key() const { return key_; }

 private:
  enum class Kind { unknown, one, list };

  base::Result<std::vector<std::string>> list(lock::Backend& backend, base::Wait wait) const;
  base::Result<std::vector<ListedLock>> look_at(std::vector<std::string> keys, lock::Backend& backend,
                                                std::int64_t waiters, base::Wait wait) const;
  bool is_nothing(const lock::Inspection& lock) const;

  std::string key_;
  std::string prefix_;
  Queues of_list_;
  Selection selection_;
  Kind kind_ = Kind::unknown;
};

}  // namespace rlock::show
