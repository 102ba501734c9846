#include <unistd.h>

#include <cstring>

#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "base/text/text.hpp"
#include "base/text/token.hpp"
#include "commands/background_release.hpp"
#include "commands/place.hpp"
#include "commands/report.hpp"
#include "commands/terms.hpp"
#include "commands/verbs.hpp"
#include "commands/while_pid.hpp"
#include "show/json.hpp"
#include "show/messages.hpp"
#include "show/print.hpp"
#include "show/waiting.hpp"

namespace rlock::commands {
namespace {

// What an rlock behind it needs, to meet the same lock: nothing where nobody has said anything.
std::string place_text(const Options& options) {
  std::string text;
  if (!options.prefix_source.empty()) text += " RLOCK_PREFIX=" + base::shell_quoted(options.prefix);
  if (!options.compat_source.empty()) {
    text += options.compat == stores::Compat::redisson ? " RLOCK_COMPAT=redisson" : " RLOCK_COMPAT=none";
  }
  return text;
}

std::string text_of(const Options& options, const lock::Lease& lease) {
  if (options.format == Format::json) return show::lease_json(options.key, lease, options.ttl);
  if (options.format == Format::shell) {
    return "export RLOCK_KEY=" + base::shell_quoted(options.key) + " RLOCK_TOKEN=" + lease.token +
           " RLOCK_FENCE=" + std::to_string(lease.fence) + place_text(options) + "\n";
  }
  return lease.token + "\n";
}

void leave_release(const Options& options, const Place& place, const lock::Request& request) {
  release_in_background(options.key, options.ttl, [&](base::Instant until) {
    const auto backend = place.open(release_try, stores::Purpose::held);
    lock::OneLease lease(*backend, request);
    release_everywhere(lease, until);
  });
}

// Nobody has read the token, so nobody could release the lock. Over a connection that no other process has: a keeper
// finds out that the lock was released, and ends.
int released(const Options& options, const Place& place, const lock::Request& request, process::Signals& signals,
             const std::string& why) {
  const auto backend = place.open(options.connect_timeout, stores::Purpose::acquire);
  base::ReleasePoller release_poller(signals);
  const auto limit = base::BootClock::now() + std::min(lock::unasked_release_limit, options.connect_timeout);
  const auto released = backend->release(request, {}, {limit, release_poller});
  if (!released) leave_release(options, place, request);
  return report_end(base::exit_internal, why + (released ? "; released " : "; releasing ") + options.key, options);
}

}  // namespace

int acquire(const Options& options) {
  if (options.format == Format::shell && options.conflict_exit_code == 0) {
    return report_end(base::exit_usage,
                      "--conflict-exit-code 0 with --export would let the script go on without the lock; leave it out",
                      options);
  }
  const auto place = place_of(options);
  if (!place) return report(place.error(), options);
  auto while_pid = WhilePid::open(options);
  if (!while_pid) return report(while_pid.error(), options);
  auto token = base::random_token();
  if (!token) return report(token.error(), options);

  process::Signals signals;
  std::optional<process::WhileAlive> while_alive;
  if (*while_pid) while_alive.emplace(signals, (*while_pid)->process);
  base::Poller& poller = while_alive ? static_cast<base::Poller&>(*while_alive) : signals;
  // The holder is the script that called rlock; this process ends now.
  const auto holder = *while_pid ? options.while_pid : ::getppid();
  const lock::Request request{.name = place->name,
                              .token = std::move(*token),
                              .ttl = options.ttl,
                              .who = lock::Who::describe(holder, "", options.label),
                              .mode = options.mode};
  const auto backend = place->open(options.connect_timeout, stores::Purpose::acquire);
  const auto terms = *while_pid ? (*while_pid)->terms : lock::LeaseTerms::unenforced(options.ttl);
  const auto start = base::BootClock::now();
  std::optional<show::Waiting> waiting(std::in_place, options.key, poller);
  lock::Acquisition acquisition(*backend, request, terms, *waiting, &*waiting);
  auto lease = acquisition.acquire(patience(options));
  waiting.reset();
  if (acquisition.is_left()) leave_release(options, *place, request);
  if (!lease && lease.error().code == base::ErrorCode::interrupted && !signals.first_ending()) {
    return report_end(base::exit_usage,
                      "--while-pid: process " + std::to_string(holder) + " has ended; " + options.key + " is not held",
                      options);
  }
  if (!lease) return report(lease.error(), options, &signals, start);
  if (!*lease) return report_busy(options, options.key, acquisition.met(), backend->name());
  if (base::is_logged(base::LogLevel::info)) {
    show::report_acquired(options.key, (*lease)->fence, base::BootClock::now() - start, options.ttl);
  }
  if (*while_pid) {
    const auto begun = start_keeper(options, *place, request, **lease, std::move(**while_pid));
    if (!begun) return released(options, *place, request, signals, begun.error().message);
  }
  if (show::print(text_of(options, **lease))) return base::exit_success;
  return released(options, *place, request, signals, std::string("cannot write the token: ") + std::strerror(errno));
}

}  // namespace rlock::commands
