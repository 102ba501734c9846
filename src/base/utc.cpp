#include "base/utc.hpp"

#include <array>
#include <chrono>
#include <ctime>

namespace rlock::base {

std::optional<std::string> rfc3339(std::int64_t us) {
  constexpr std::time_t end = 253'402'300'800;  // of the year 9999
  const std::time_t seconds = us / 1'000'000;
  if (us < 0 || seconds >= end) return std::nullopt;
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

}  // namespace rlock::base
