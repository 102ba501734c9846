#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rlock::redis {

/// A server-side script: one atomic step of the protocol in one round trip. Its file in scripts/ says what it takes and
/// returns.
struct Script {
  std::span<const std::string_view> parts;  ///< most are in several scripts, and in the binary once
  std::string_view sha1;

  std::string text() const {
    std::string all;
    for (const auto part : parts) all += part;
    return all;
  }
};

/// All of them, for one form of the lock's key. The build (cmake/EmbedScripts.cmake) makes them of the files of
/// scripts/ and writes scripts.cpp.
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

}  // namespace rlock::redis
