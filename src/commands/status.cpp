#include <algorithm>
#include <csignal>

#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "commands/common.hpp"
#include "commands/output.hpp"
#include "commands/server.hpp"
#include "commands/verbs.hpp"

namespace rlock::commands {

using base::Result;
using State = lock::Inspection::State;

namespace {

// How many waiters of a lock are listed; more are only counted.
constexpr std::int64_t max_waiters = 1'000;

Result<std::vector<ListedLock>> look(lock::Backend& backend, const Options& options, base::Wait wait) {
  std::vector<std::string> keys{options.key};
  if (options.key.empty()) keys = RLOCK_TRY(backend.list(options.prefix, wait));
  std::vector<std::string> wire_keys;
  for (const auto& key : keys) wire_keys.push_back(options.prefix + key);
  auto locks = RLOCK_TRY(backend.inspect(wire_keys, max_waiters, wait));

  std::vector<ListedLock> sights;
  for (std::size_t i = 0; i < keys.size(); ++i) sights.push_back({std::move(keys[i]), std::move(locks[i])});
  if (options.key.empty()) {
    std::erase_if(sights, [&](const ListedLock& sight) {
      const auto& lock = sight.lock;
      if (lock.waiting > 0) return false;
      // A lock may have gone since it was listed. Without a prefix, a string without a ttl is other data, not a lock.
      return lock.state == State::free || (options.prefix.empty() && lock.state == State::foreign && lock.is_endless());
    });
  }
  return sights;
}

void tell_of_endless(const std::vector<ListedLock>& sights, const Options& options) {
  const auto is_endless = [](const ListedLock& s) { return s.lock.is_endless(); };
  const auto first = std::ranges::find_if(sights, is_endless);
  if (first == sights.end()) return;
  const auto others = std::ranges::count_if(sights, is_endless) - 1;
  base::log_note(first->key + (others > 0 ? " and " + std::to_string(others) + " more have" : " has") +
                 " no end: " + how_to_end(first->key, options));
}

// Where the answer does not come, there is nothing to warn of: the locks were shown.
void tell_of_setup(lock::Backend& backend) {
  base::PlainPoller plain;
  const auto warnings = backend.warnings({base::BootClock::now() + backend.timeout(), plain});
  if (!warnings) return;
  for (const auto& warning : *warnings) base::log_note(warning);
}

}  // namespace

// Holds no lock, so a signal may end it at any point.
int status(const Options& options) {
  std::signal(SIGPIPE, SIG_IGN);
  if (!options.key.empty()) {
    if (const auto names = lock_names(options); !names) return report(names.error(), options);
  }
  const auto addresses = server_addresses(options);
  if (!addresses) return report(addresses.error(), options);
  // A list is of locks of every form; the plain scripts show those of another as foreign.
  const auto& scripts = scripts_for(options.key.empty() ? Compat::none : options.compat);
  const auto backend =
      open_backend(*addresses, options.prefix + options.key, scripts, options.connect_timeout, redis::Greet::first);
  base::PlainPoller plain;
  auto sights = base::until_served(base::BootClock::now() + options.connect_timeout, plain,
                                   [&](base::Instant) { return look(*backend, options, {base::never, plain}); });
  if (!sights) return report(sights.error(), options);
  std::string text;
  if (options.format == Format::json) {
    text = options.key.empty() ? locks_json(*sights) : lock_json(sights->front());
  } else if (!options.quiet) {
    text = locks_table(*sights);
    tell_of_endless(*sights, options);
  }
  if (!print(text)) {
    base::log_error("cannot write to standard output");
    return base::exit_internal;
  }
  // The private server of `local` forgets its locks when it ends, and so does whoever holds one there.
  if (options.verbose && !addresses->front().is_local) tell_of_setup(*backend);
  if (!options.exit_code) return base::exit_success;
  const bool held = std::ranges::any_of(*sights, [](const ListedLock& sight) { return sight.lock.is_held(); });
  return held ? base::exit_success : base::exit_free;
}

}  // namespace rlock::commands
