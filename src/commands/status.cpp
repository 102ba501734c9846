#include <algorithm>

#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "commands/common.hpp"
#include "commands/output.hpp"
#include "commands/verbs.hpp"

namespace rlock::commands {

using base::Result;

namespace {

// As many as anyone reads; more are counted.
constexpr std::int64_t most_waiters = 1'000;

Result<std::vector<Sight>> look(const Options& options, process::Signals& signals) {
  std::vector<Sight> sights;
  const auto sight = [&](lock::Client& client, const std::string& key) -> Result<void> {
    auto inspection = client.inspect(most_waiters, base::never, signals);
    if (!inspection) return std::unexpected(inspection.error());
    sights.push_back({key, std::move(*inspection)});
    return {};
  };
  if (!options.key.empty()) {
    auto client = make_client(options);
    if (!client) return std::unexpected(client.error());
    if (auto seen = sight(*client, options.key); !seen) return std::unexpected(seen.error());
    return sights;
  }
  auto address = server_address(options);
  if (!address) return std::unexpected(address.error());
  redis::Session session(std::move(*address), options.connect_timeout, redis::OnDemand::start);
  auto keys = lock::list_locks(session, options.prefix, signals);
  if (!keys) return std::unexpected(keys.error());
  for (const auto& key : *keys) {
    lock::Client client(std::move(session), options.prefix + key);
    if (auto seen = sight(client, key); !seen) return std::unexpected(seen.error());
    session = std::move(client.session());
    // It may have gone since it was listed.
    if (sights.back().lock.state == lock::Inspection::State::free && sights.back().lock.waiting == 0) sights.pop_back();
  }
  return sights;
}

}  // namespace

int status(const Options& options) {
  process::Signals signals;
  auto sights = redis::until_served(base::BootClock::now() + options.connect_timeout, signals,
                                    [&](base::Instant) { return look(options, signals); });
  if (!sights) return report(sights.error(), options, &signals);
  std::string text;
  if (options.format == Format::json) {
    text = options.key.empty() ? sights_json(*sights) : sight_json(sights->front());
  } else if (!options.quiet) {
    text = sights_table(*sights);
  }
  if (!print(text)) {
    base::log_error("cannot write to standard output");
    return base::exit_internal;
  }
  if (!options.exit_code) return base::exit_success;
  const bool held = std::ranges::any_of(
      *sights, [](const Sight& sight) { return sight.lock.state != lock::Inspection::State::free; });
  return held ? base::exit_success : base::exit_free;
}

}  // namespace rlock::commands
