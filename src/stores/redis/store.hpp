#pragma once

#include "stores/common/store.hpp"

namespace rlock::redis {

/// Redis and Valkey in each of their shapes, or 3 to 7 independent servers of which a majority holds a lock.
extern const stores::Kind store_kind;

}  // namespace rlock::redis
