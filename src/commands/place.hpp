#pragma once

#include <memory>
#include <vector>

#include "base/error.hpp"
#include "commands/options.hpp"
#include "lock/name.hpp"
#include "stores/common/store.hpp"

namespace rlock::commands {

/// The store that the options name, with its passwords. Fails with usage or configuration.
base::Result<std::unique_ptr<stores::Store>> open_store(const Options& options);

/// The lock that the options name; fails with usage where KEY cannot name one.
base::Result<lock::Name> lock_name(const Options& options);

/// The lock that the options name, with those of --with behind it. Fails as lock_name() does, and where one is named
/// twice.
base::Result<std::vector<lock::Name>> all_lock_names(const Options& options);

/// The lock that the options name, and where it is kept.
struct Place {
  lock::Name name;
  std::unique_ptr<stores::Store> store;

  /// See stores::Store::open.
  std::unique_ptr<lock::Backend> open(base::Duration timeout, stores::Purpose purpose) const {
    return store->open(name.wire_key, timeout, purpose);
  }
};

/// Both of the above, for a verb that needs a KEY.
base::Result<Place> place_of(const Options& options);

}  // namespace rlock::commands
