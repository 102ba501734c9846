#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "base/terminal/screen.hpp"
#include "commands/place.hpp"
#include "commands/report.hpp"
#include "commands/verbs.hpp"
#include "commands/watch.hpp"
#include "show/json.hpp"
#include "show/print.hpp"
#include "show/prometheus.hpp"
#include "show/status_table.hpp"

namespace rlock::commands {

using base::Result;

namespace {

void report_endless(const std::vector<show::ListedLock>& snapshots, const Options& options) {
  const auto is_other_data = [](const show::ListedLock& s) { return s.lock.is_other_data; };
  if (const auto other = std::ranges::find_if(snapshots, is_other_data); other != snapshots.end()) {
    base::log_note(not_a_lock(other->key, options));
  }
  const auto is_endless = [](const show::ListedLock& s) { return s.lock.is_endless() && !s.lock.is_other_data; };
  const auto first = std::ranges::find_if(snapshots, is_endless);
  if (first == snapshots.end()) return;
  const auto others = std::ranges::count_if(snapshots, is_endless) - 1;
  base::log_note(first->key +
                 (others > 0 ? " and " + std::to_string(others) + " more never expire: " : " never expires: ") +
                 how_to_end(first->key, options));
}

// Where the answer does not come, there is nothing to warn of: the locks were shown.
void report_setup(lock::Backend& backend) {
  base::PlainPoller plain;
  const auto warnings = backend.warnings({base::BootClock::now() + backend.timeout(), plain});
  if (!warnings) return;
  for (const auto& warning : *warnings) base::log_note(warning);
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text.append(line).append(1, '\n');
  return text;
}

// Whoever asked for all locks must not take a part for the whole. Returns the exit status.
int report_missing(const std::vector<lock::Unseen>& unseen, const std::vector<show::ListedLock>& snapshots,
                   const Options& options) {
  int first = base::exit_success;
  const auto tell = [&](const base::Error& error, const std::string& what) {
    const int status = report({error.code, what + ": " + error.message}, options);
    if (first == base::exit_success) first = status;
  };
  for (const auto& [server, error] : unseen) tell(error, "the locks at " + server + " are not shown");
  for (const auto& snapshot : snapshots) {
    if (snapshot.lock.unread) tell(*snapshot.lock.unread, "who holds " + snapshot.key + " is not shown");
  }
  return first;
}

std::string text_of(const std::vector<show::ListedLock>& snapshots, const std::vector<lock::Unseen>& unseen,
                    const show::View& view, const Options& options) {
  if (options.format == Format::json)
    return view.is_of_one() ? show::lock_json(snapshots.front()) : show::locks_json(snapshots, unseen);
  if (options.format == Format::keys) return joined(view.keys_of(snapshots));
  if (options.format == Format::prometheus) return show::metrics(snapshots, unseen.size());
  if (options.quiet) return "";
  const auto layout = show::Layout::of(STDOUT_FILENO);
  if (view.is_of_one()) return joined(show::detail_lines(snapshots.front(), layout));
  if (!snapshots.empty()) return joined(show::list_lines(snapshots, layout));
  return "";
}

}  // namespace

// Holds no lock, so a signal may end it at any point.
int status(const Options& options) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that must not grow (ulimit -f) is a full disk
  if (options.watch && !base::is_screen(STDOUT_FILENO)) {
    return report_end(base::exit_usage,
                      "--watch needs a terminal on standard output, and TERM set; elsewhere repeat rlock status --json",
                      options);
  }
  if (!options.key.empty()) {
    if (const auto name = lock_name(options); !name) return report(name.error(), options);
  }
  const auto store = open_store(options);
  if (!store) return report(store.error(), options);
  const auto backend = (*store)->open(options.prefix + options.key, options.connect_timeout,
                                      options.key.empty() ? stores::Purpose::list : stores::Purpose::step);
  base::PlainPoller plain;
  const auto order = options.format == Format::usual ? show::Order::state : show::Order::key;
  show::View view(options.key, options.prefix,
                  options.format == Format::json ? show::View::Queues::whole : show::View::Queues::first,
                  {options.order.value_or(order), options.only_in_use});
  if (options.watch) return watch(view, *backend, options);
  const auto ask = [&](auto question) {
    return base::until_served(base::BootClock::now() + options.connect_timeout, plain,
                              [&](base::Instant) { return question(base::Wait(base::never, plain)); });
  };
  if (options.format == Format::keys && !options.exit_code) {
    const auto keys = ask([&](base::Wait wait) { return view.keys(*backend, wait); });
    if (!keys) return report(keys.error(), options);
    const int printed = show::print_for_reader(joined(*keys));
    const int seen = report_missing(backend->unseen(), {}, options);
    return printed != base::exit_success ? printed : seen;
  }
  const auto snapshots = ask([&](base::Wait wait) { return view.look(*backend, wait); });
  if (!snapshots) {
    if (options.format == Format::prometheus) (void)show::print(show::metrics_of_outage());
    return report(snapshots.error(), options);
  }
  const auto unseen = backend->unseen();
  if (options.format == Format::usual && !options.quiet) {
    report_endless(*snapshots, options);
    if (snapshots->empty() && unseen.empty()) {
      const std::string held = options.only_in_use ? " held or waited for" : "";
      base::log_note((options.key.empty() ? "no locks" + held : "no lock" + held + " matches " + options.key) + " at " +
                     backend->name());
    }
  }
  if (const int status = show::print_for_reader(text_of(*snapshots, unseen, view, options));
      status != base::exit_success) {
    return status;
  }
  const int seen = report_missing(unseen, *snapshots, options);
  if (options.verbose) report_setup(*backend);
  if (!options.exit_code) return seen;
  const bool held =
      std::ranges::any_of(*snapshots, [](const show::ListedLock& snapshot) { return snapshot.lock.is_held(); });
  if (held) return base::exit_success;
  return seen != base::exit_success ? seen : base::exit_free;
}

}  // namespace rlock::commands
