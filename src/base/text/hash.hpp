#pragma once

#include <cstdint>
#include <string_view>

namespace rlock::base {

/// FNV-1a, the same on every machine. before: the hash of what stands in front of text.
constexpr std::uint64_t hash_of(std::string_view text, std::uint64_t before = 14695981039346656037U) {
  for (const char c : text) before = (before ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return before;
}

}  // namespace rlock::base
