#pragma once

#include "stores/common/store.hpp"

namespace rlock::zookeeper {

/// ZooKeeper: a majority of its members decides who holds a lock.
extern const stores::Kind store_kind;

}  // namespace rlock::zookeeper
