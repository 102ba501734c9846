#pragma once

#include <string_view>

namespace rlock::lock {

/// A server-side script: one atomic step of the protocol in one round trip. Its file in scripts/ says what it takes and
/// returns.
struct Script {
  std::string_view text;
  std::string_view sha1;
};

/// All of them, for one form of the lock's key. The build puts the form's file, common.lua, holders.lua and queue.lua
/// in front of each and writes scripts.cpp.
struct Scripts {
  Script acquire;
  Script release;
  Script renew;
  Script reclaim;
  Script raise;
  Script check;
  Script inspect;
};

extern const Scripts plain_scripts;
extern const Scripts redisson_scripts;  ///< the hash of Redisson's RLock

}  // namespace rlock::lock
