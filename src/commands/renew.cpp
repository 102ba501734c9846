#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "commands/common.hpp"
#include "commands/server.hpp"
#include "commands/verbs.hpp"

namespace rlock::commands {

int renew(const Options& options) {
  const auto place = place_of(options);
  if (!place) return report(place.error(), options);
  auto token = read_token(options);
  if (!token) return report(token.error(), options);
  process::Signals signals;
  const auto backend = open_backend(place->servers, place->names.lock, scripts_for(options.compat),
                                    options.connect_timeout, redis::Greet::first);
  const lock::Request request{place->names, std::move(*token), options.ttl, {}};
  const auto renewed = base::until_served(
      base::BootClock::now() + options.connect_timeout, signals,
      [&](base::Instant until) { return backend->renew(request, lock::Watch::no, {until, signals}); });
  if (!renewed) return report(renewed.error(), options, &signals);
  if (renewed->holder == lock::Standing::Holder::us) return base::exit_success;
  const bool is_absent = renewed->holder == lock::Standing::Holder::nobody;
  base::log_error("lost: " + options.key + (is_absent ? " is not held by anybody" : " is held by somebody else"));
  return base::exit_lost;
}

}  // namespace rlock::commands
