#include "lock/last_run.hpp"

#include <algorithm>

#include "base/number.hpp"
#include "base/text.hpp"

namespace rlock::lock {
namespace {

constexpr std::int64_t max_time_s = 1LL << 40;
constexpr std::int64_t max_duration_ms = 100LL * 366 * 86'400'000;

}  // namespace

std::string LastRun::encode() const {
  return std::to_string(signal > 0 ? -signal : exit_status) + " " + std::to_string(took.count()) + " " +
         std::to_string(once.count()) + " " + who.encode();
}

std::optional<LastRun> LastRun::decode(std::string_view text) {
  if (base::take_word(text) != "1") return std::nullopt;
  // Whatever a foreign hand has written there, one can reckon with it.
  const auto number = [&] {
    return std::max<std::int64_t>(base::parse_number<std::int64_t>(base::take_word(text)).value_or(0), 0);
  };
  const auto duration = [&] { return base::Duration(std::min(number(), max_duration_ms)); };
  LastRun run;
  base::take_word(text);  // for how long it is remembered
  base::take_word(text);  // when one last succeeded, in two words
  base::take_word(text);
  run.ended_us = std::min(number(), max_time_s) * 1'000'000;
  run.ended_us += std::min<std::int64_t>(number(), 999'999);
  const auto exit = base::parse_number<int>(base::take_word(text), 255).value_or(255);
  if (exit < -127) return std::nullopt;
  run.signal = exit < 0 ? -exit : 0;
  run.exit_status = exit < 0 ? 128 - exit : exit;
  run.took = duration();
  run.once = duration();
  run.who = Who::decode(text);
  return run;
}

}  // namespace rlock::lock
