#include "cli/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/text/text.hpp"

namespace rlock::cli {
namespace {

// Of optimal string alignment: Levenshtein's, and two neighbours swapped are one mistake.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> last(other.size() + 1);
  std::iota(last.begin(), last.end(), 0U);
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::vector<std::size_t> row(other.size() + 1, i);
    for (std::size_t j = 1; j <= other.size(); ++j) {
      row[j] = std::min({last[j - 1] + (one[i - 1] == other[j - 1] ? 0U : 1U), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = std::exchange(last, std::move(row));
  }
  return last.back();
}

}  // namespace

std::string_view nearest(std::string_view mistyped, std::span<const std::string_view> names) {
  constexpr std::size_t max_length = 64;  // bytes; no name is as long
  constexpr std::size_t min_beginning = 3;
  if (mistyped.empty() || mistyped.size() > max_length) return {};
  const auto typed = base::lowered(mistyped);
  std::string_view found;
  std::size_t least = max_length;
  for (const auto name : names) {
    const auto mistakes = distance(typed, base::lowered(name));
    if (mistakes <= std::max<std::size_t>(1, name.size() / 3) && mistakes < least) {
      found = name;
      least = mistakes;
    }
  }
  const auto begins = [&](std::string_view name) { return base::lowered(name).starts_with(typed); };
  if (found.empty() && typed.size() >= min_beginning && std::ranges::count_if(names, begins) == 1)
    found = *std::ranges::find_if(names, begins);
  return found;
}

std::string listed(std::span<const std::string_view> names, std::string_view before_last) {
  std::string text;
  for (const auto& name : names) {
    if (&name != names.data()) text += &name == &names.back() ? before_last : ", ";
    text += name;
  }
  return text;
}

}  // namespace rlock::cli
