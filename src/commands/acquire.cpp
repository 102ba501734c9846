#include <unistd.h>

#include <cstring>

#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/token.hpp"
#include "commands/common.hpp"
#include "commands/output.hpp"
#include "commands/server.hpp"
#include "commands/verbs.hpp"

namespace rlock::commands {
namespace {

std::string text_of(const Options& options, const lock::Lease& lease) {
  switch (options.format) {
    case Format::json:
      return lease_json(options.key, lease, options.ttl);
    case Format::shell:
      return "export RLOCK_KEY=" + base::shell_quoted(options.key) + " RLOCK_TOKEN=" + lease.token +
             " RLOCK_FENCE=" + std::to_string(lease.fence) + "\n";
    case Format::text:
      break;
  }
  return lease.token + "\n";
}

}  // namespace

int acquire(const Options& options) {
  if (options.format == Format::shell && options.conflict_exit_code == 0) {
    base::log_error("--conflict-exit-code 0 with --export would let the script go on without the lock; leave it out");
    return base::exit_usage;
  }
  const auto place = place_of(options);
  if (!place) return report(place.error(), options);
  auto token = base::random_token();
  if (!token) return report(token.error(), options);

  process::Signals signals;
  // The holder is the script that called rlock; this process ends now.
  const lock::Request request{place->names,  std::move(*token), options.ttl, lock::Who::describe(::getppid(), ""),
                              options.grace, options.replicas};
  const auto backend = open_backend(place->servers, place->names.lock, scripts_for(options.compat), options.connect_timeout, redis::Greet::together);
  lock::Acquisition acquisition(*backend, request, lock::LeaseTerms{options.ttl, {}, {}}, signals);
  auto lease = acquisition.acquire(patience(options));
  if (!lease) return report(lease.error(), options, &signals);
  if (!*lease) return report_busy(options, acquisition.met(), *backend);
  if (print(text_of(options, **lease))) return base::exit_success;

  // Nobody has read the token, so nobody could release the lock.
  const auto why = std::strerror(errno);
  base::GracePoller grace_poller(signals);
  const auto limit = base::BootClock::now() + options.connect_timeout;
  (void)base::until_served(limit, grace_poller, [&](base::Instant until) {
    return backend->release(request, lock::Force::no, {until, grace_poller});
  });
  base::log_error(std::string("cannot write the token: ") + why + "; released the lock");
  return base::exit_internal;
}

}  // namespace rlock::commands
