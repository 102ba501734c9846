#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "commands/common.hpp"
#include "commands/verbs.hpp"

namespace rlock::commands {

int renew(const Options& options) {
  auto client = make_client(options);
  if (!client) return report(client.error(), options);
  auto token = read_token(options);
  if (!token) return report(token.error(), options);
  process::Signals signals;
  auto renewed =
      redis::until_served(base::BootClock::now() + options.connect_timeout, signals,
                          [&](base::Instant until) { return client->renew(*token, options.ttl, until, signals); });
  if (!renewed) return report(renewed.error(), options, &signals);
  if (renewed->outcome == lock::RenewOutcome::renewed) return base::exit_success;
  const bool absent = renewed->outcome == lock::RenewOutcome::absent;
  base::log_error("lost: " + options.key + (absent ? " is not held by anybody" : " is held by somebody else"));
  return base::exit_lost;
}

}  // namespace rlock::commands
