#include "base/text/time_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

namespace rlock::base {
namespace {

constexpr std::int64_t us_per_s = 1'000'000;
constexpr std::time_t max_time = 253'402'300'799;  // the last second of the year 9999
constexpr std::time_t half_a_year = 180L * 86'400;

std::tm local(std::time_t seconds) {
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

std::optional<std::string> rfc3339(std::int64_t us) {
  const std::time_t seconds = us / us_per_s;
  if (us < 0 || seconds > max_time) return std::nullopt;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return std::string(text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
}

std::string rfc3339_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  auto text = rfc3339(us).value_or("Z");
  text.insert(text.size() - 1, "." + std::to_string(1000 + us / 1000 % 1000).substr(1));
  return text;
}

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
