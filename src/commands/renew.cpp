#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "commands/place.hpp"
#include "commands/report.hpp"
#include "commands/terms.hpp"
#include "commands/verbs.hpp"

namespace rlock::commands {

int renew(const Options& options) {
  const auto place = place_of(options);
  if (!place) return report(place.error(), options);
  auto token = read_token(options);
  if (!token) return report(token.error(), options);
  process::Signals signals;
  const auto start = base::BootClock::now();
  const auto backend = place->open(options.connect_timeout, stores::Purpose::step);
  const lock::Request request{.name = place->name, .token = std::move(*token), .ttl = options.ttl, .who = {}};
  const auto renewed = base::until_served(
      base::BootClock::now() + options.connect_timeout, signals,
      [&](base::Instant until) { return backend->renew(request, lock::Watch::no, {until, signals}); });
  if (!renewed) return report(renewed.error(), options, &signals, start);
  if (renewed->holder != lock::Ownership::Holder::us) {
    return report_not_held(options, *backend, place->name, renewed->holder);
  }
  base::log_info("renewed " + options.key, {"renewed",
                                            {{"key", options.key},
                                             {"fence", static_cast<std::int64_t>(renewed->fence)},
                                             {"ttl_ms", std::int64_t{options.ttl.count()}}}});
  return base::exit_success;
}

}  // namespace rlock::commands
