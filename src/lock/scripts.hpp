#pragma once

#include <string_view>

namespace rlock::lock {

/// A server-side script: one atomic step of the protocol in one round trip. Its file in scripts/ says
/// what it takes and returns; the build puts plain.lua and common.lua in front of each and writes scripts.cpp.
struct Script {
  std::string_view text;
  std::string_view sha1;
};

extern const Script acquire_script;
extern const Script release_script;
extern const Script renew_script;
extern const Script reclaim_script;
extern const Script raise_script;
extern const Script check_script;
extern const Script inspect_script;

}  // namespace rlock::lock
