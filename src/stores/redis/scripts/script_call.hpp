#pragma once

#include <string>
#include <vector>

#include "base/wait/clock.hpp"
#include "stores/redis/client/connection.hpp"
#include "stores/redis/scripts/names.hpp"
#include "stores/redis/scripts/scripts.hpp"

namespace rlock::redis {

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

  Command by_hash() const;
  Command in_full() const;
  /// In full, with the lock as its only key.
  Command while_moving(Moving moving) const;

 private:
  Command with_keys(Command command) const;
};

}  // namespace rlock::redis
