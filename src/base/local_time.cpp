#include "base/local_time.hpp"

#include <algorithm>
#include <array>
#include <ctime>

namespace rlock::base {
namespace {

constexpr std::int64_t us_per_s = 1'000'000;
constexpr std::time_t max_time = 253'402'300'799;  // a year of four digits
constexpr std::time_t half_a_year = 180L * 86'400;

std::tm local(std::time_t seconds) {
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

std::string local_time_text(std::int64_t us) {
  const std::time_t seconds = std::clamp<std::int64_t>(us / us_per_s, 0, max_time);
  const auto now = std::time(nullptr);
  const auto then = local(seconds);
  const auto today = local(now);
  const bool is_today = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
  const bool is_recent = std::max(now, seconds) - std::min(now, seconds) < half_a_year;
  std::array<char, 32> text{};
  return {text.data(), is_today    ? std::strftime(text.data(), text.size(), "%H:%M:%S", &then)
                       : is_recent ? std::strftime(text.data(), text.size(), "%b %e %H:%M", &then)
                                   : std::strftime(text.data(), text.size(), "%Y-%m-%d", &then)};
}

}  // namespace rlock::base
