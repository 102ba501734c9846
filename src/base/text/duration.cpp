#include "base/text/duration.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace rlock::base {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};

// From the longest to the shortest: the order in which they may follow one another.
constexpr std::array units{Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1'000},
                           Unit{"ms", 1}};
constexpr std::int64_t max_ms = max_duration.count();

constexpr std::unexpected malformed(BadDuration::malformed);

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take(std::string_view& text, auto&& wanted) {
  std::size_t n = 0;
  while (n < text.size() && wanted(text[n])) ++n;
  auto taken = text.substr(0, n);
  text.remove_prefix(n);
  return taken;
}

}  // namespace

std::expected<Duration, BadDuration> parse_duration(std::string_view text) {
  std::int64_t total = 0;
  std::size_t next_unit = 0;
  bool first = true;
  bool is_too_long = false;
  if (text.empty()) return malformed;
  while (!text.empty()) {
    const auto whole = take(text, is_digit);
    std::string_view fraction;
    if (!text.empty() && text.front() == '.') {
      text.remove_prefix(1);
      fraction = take(text, is_digit);
      if (fraction.empty()) return malformed;
    }
    if (whole.empty() || fraction.size() > 3) return malformed;

    auto name = take(text, [](char c) { return !is_digit(c) && c != '.'; });
    if (name.empty() && first && text.empty()) name = "s";
    std::size_t unit = next_unit;
    while (unit < units.size() && units[unit].name != name) ++unit;
    if (unit == units.size()) return malformed;
    next_unit = unit + 1;

    const auto ms = units[unit].ms;
    std::int64_t value = 0;
    for (char c : whole) value = std::min(value * 10 + (c - '0'), max_ms + 1);
    is_too_long = is_too_long || value > max_ms / ms;
    value = std::min(value, max_ms / ms);
    total += value * ms;
    std::int64_t part = ms;
    std::int64_t scale = 1;
    std::int64_t digits = 0;
    for (char c : fraction) {
      digits = digits * 10 + (c - '0');
      scale *= 10;
    }
    part *= digits;
    if (part % scale != 0) return malformed;
    total += part / scale;
    first = false;
  }
  if (is_too_long || total > max_ms) return std::unexpected(BadDuration::too_long);
  return Duration(total);
}

std::string format_duration(Duration duration) {
  auto left = duration.count();
  if (left == 0) return "0s";
  std::string text;
  for (const auto& unit : units) {
    const auto n = left / unit.ms;
    left %= unit.ms;
    if (n > 0) text += std::to_string(n) + std::string(unit.name);
  }
  return text;
}

std::string age_text(std::chrono::seconds age) {
  auto left = Duration(age).count();
  std::string text;
  for (const auto& unit : units) {
    const auto n = left / unit.ms;
    left %= unit.ms;
    if (n == 0 && text.empty()) continue;
    if (!text.empty()) return n > 0 ? text + " " + std::to_string(n) + std::string(unit.name) : text;
    text = std::to_string(n) + std::string(unit.name);
  }
  return text.empty() ? "0s" : text;
}

}  // namespace rlock::base
