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
  // Limited: another program may have written there, and arithmetic with it must not overflow.
  const auto number = [&] {
    return std::max<std::int64_t>(base::parse_number<std::int64_t>(base::take_word(text)).value_or(0), 0);
  };
  const auto duration = [&] { return base::Duration(std::min(number(), max_duration_ms)); };
  LastRun run;
  const auto time = [&] {
    const auto us = std::min(number(), max_time_s) * 1'000'000;
    return us + std::min<std::int64_t>(number(), 999'999);
  };
  base::take_word(text);  // for how long it is remembered
  // When one last succeeded: "= =" this one, "0 0" none.
  const bool has_succeeded = text.starts_with("= ");
  const auto succeeded_us = time();
  run.ended_us = time();
  if (has_succeeded || succeeded_us > 0) run.succeeded_us = has_succeeded ? run.ended_us : succeeded_us;
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
