#pragma once

#include "stores/common/store.hpp"

namespace rlock::etcd {

/// etcd and etcds: the members of one cluster, of which a majority keeps the locks.
extern const stores::Kind store_kind;

}  // namespace rlock::etcd
