#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace rlock::base {

/// The whole of text as a decimal number of at most max. nullopt for anything else: empty, out of T's range, a plus
/// sign, blanks, bytes left over.
template <class T>
std::optional<T> parse_number(std::string_view text, T max = std::numeric_limits<T>::max()) {
  T value{};
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stopped, error] = std::from_chars(begin, end, value);
  if (error != std::errc{} || stopped != end || value > max) return std::nullopt;
  return value;
}

}  // namespace rlock::base
