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
  const auto* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end || value > max) return std::nullopt;
  return value;
}

}  // namespace rlock::base
