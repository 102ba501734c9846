#include <algorithm>

#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "base/text/text.hpp"
#include "commands/place.hpp"
#include "commands/report.hpp"
#include "commands/terms.hpp"
#include "commands/verbs.hpp"
#include "show/messages.hpp"

namespace rlock::commands {

namespace {

// Of many holders those are named that fit into a line.
constexpr std::size_t max_named = 5;

std::string summary_of(const std::vector<lock::Record>& holders) {
  if (holders.empty()) return "a program other than rlock";
  std::string text;
  for (std::size_t i = 0; i < std::min(holders.size(), max_named); ++i) {
    text += (i == 0 ? "" : ", ") + show::holder_text(holders[i]);
  }
  return holders.size() <= max_named ? text : text + " and " + std::to_string(holders.size() - max_named) + " more";
}

}  // namespace

int release(const Options& options) {
  if (options.force && !options.token.empty()) {
    return report_end(base::exit_usage,
                      "--force releases whoever holds " + options.key + "; leave TOKEN out, or --force", options);
  }
  const auto place = place_of(options);
  if (!place) return report(place.error(), options);
  const lock::ReleaseOptions how{.force = options.force ? lock::Force::yes : lock::Force::no};
  auto token = options.force ? base::Result<std::string>("") : read_token(options);
  if (!token) {
    auto error = token.error();
    error.message += "; --force releases KEY without it";
    return report(error, options);
  }
  process::Signals signals;
  const auto start = base::BootClock::now();
  const auto limit = base::BootClock::now() + options.connect_timeout;
  const auto backend = place->open(options.connect_timeout, stores::Purpose::step);
  const lock::Request request{.name = place->name, .token = std::move(*token), .ttl = options.ttl, .who = {}};
  const auto released = base::until_served(
      limit, signals, [&](base::Instant until) { return backend->release(request, how, {until, signals}); });
  if (!released) return report(released.error(), options, &signals, start);
  switch (released->outcome) {
    case lock::ReleaseOutcome::released:
      base::log(options.force ? base::LogLevel::note : base::LogLevel::info,
                "released " + options.key + (options.force ? ", held by " + summary_of(released->holders) : ""),
                {"released", {{"key", options.key}}});
      return base::exit_success;
    case lock::ReleaseOutcome::unknown:
      base::log_note(options.key + " is not held with this token; a try that went unanswered may have released it");
      return base::exit_success;
    case lock::ReleaseOutcome::absent:
      return report_not_held(options, *backend, place->name, lock::Ownership::Holder::nobody);
    case lock::ReleaseOutcome::not_owner:
      return report_not_held(options, *backend, place->name, lock::Ownership::Holder::other);
    case lock::ReleaseOutcome::other_form:
      return report_end(base::exit_lost, "not released: " + options.key + " is held; " + other_form(options), options);
    case lock::ReleaseOutcome::not_a_lock:
      break;
  }
  return report_end(base::exit_lost, "not released: " + not_a_lock(options.key, options), options);
}

}  // namespace rlock::commands
