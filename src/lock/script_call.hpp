#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "lock/names.hpp"
#include "lock/scripts.hpp"
#include "redis/connection.hpp"

namespace rlock::lock {

/// How much of a lock is on a node to which its slot is being moved; see scripts/common.lua.
enum class Moving { split, ended, whole };

/// One call of a script for one lock, in the forms in which it can be sent.
struct ScriptCall {
  const Script& script;
  const Names& names;
  const std::string& token;
  std::vector<std::string> arguments;
  base::Duration grace{};    ///< goes into one argument, with how long the server is young under it; zero: no grace
  std::size_t grace_at = 0;  ///< the index of that argument, from 0; 0: the script takes no grace

  redis::Command by_hash() const;
  redis::Command in_full() const;
  /// In full, with the lock as its only key.
  redis::Command while_moving(Moving moving) const;

 private:
  redis::Command with_keys(redis::Command command) const;
};

}  // namespace rlock::lock
