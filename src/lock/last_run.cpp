#include "lock/last_run.hpp"

#include "base/text/bounds.hpp"
#include "base/text/number.hpp"
#include "base/text/text.hpp"

namespace rlock::lock {

std::string LastRun::encode() const {
  return std::to_string(signal > 0 ? -signal : exit_status) + " " + std::to_string(took.count()) + " " +
         std::to_string(once.count()) + " " + who.encode();
}

base::Duration LastRun::once_of(std::string_view encoded) {
  base::take_word(encoded);
  base::take_word(encoded);
  return base::span_of(base::number_in(base::take_word(encoded)));
}

std::string LastRun::stored(std::string_view encoded, base::Duration remembered, std::int64_t ended_us,
                            const std::optional<LastRun>& before) {
  const auto time = [](std::int64_t us) {
    return std::to_string(us / 1'000'000) + " " + std::to_string(us % 1'000'000);
  };
  const auto succeeded =
      encoded.starts_with("0 ") ? "= =" : time(before && before->succeeded_us ? *before->succeeded_us : 0);
  return "1 " + std::to_string(remembered.count()) + " " + succeeded + " " + time(ended_us) + " " +
         std::string(encoded);
}

std::optional<LastRun> LastRun::decode(std::string_view text) {
  if (base::take_word(text) != "1") return std::nullopt;
  const auto number = [&] { return base::number_in(base::take_word(text)); };
  LastRun run;
  const auto time = [&] {
    const auto seconds = number();
    return base::time_us_of(seconds, number());
  };
  run.remembered = base::span_of(number());
  // When one last succeeded: "= =" this one, "0 0" none.
  const bool has_succeeded = text.starts_with("= ");
  const auto succeeded_us = time();
  run.ended_us = time();
  if (has_succeeded || succeeded_us > 0) run.succeeded_us = has_succeeded ? run.ended_us : succeeded_us;
  const auto exit = base::parse_number<int>(base::take_word(text), 255).value_or(255);
  if (exit < -127) return std::nullopt;
  run.signal = exit < 0 ? -exit : 0;
  run.exit_status = exit < 0 ? 128 - exit : exit;
  run.took = base::span_of(number());
  run.once = base::span_of(number());
  run.who = Who::decode(text);
  return run;
}

}  // namespace rlock::lock
