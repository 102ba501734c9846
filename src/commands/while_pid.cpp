#include "commands/while_pid.hpp"

#include <unistd.h>

#include <csignal>
#include <memory>
#include <utility>

#include "base/log.hpp"
#include "base/text/text.hpp"
#include "commands/background_release.hpp"
#include "commands/terms.hpp"
#include "lock/renewal.hpp"
#include "process/background.hpp"
#include "process/keeper.hpp"
#include "show/messages.hpp"

namespace rlock::commands {

using base::Result;

namespace {

// What lives in the background, from its begin() on.
class BackgroundKeeper {
 public:
  BackgroundKeeper(const Options& options, const Place& place, const lock::Request& request, const lock::Lease& lease,
                   WhilePid while_pid)
      : options_(options),
        place_(place),
        request_(request),
        lease_(lease),
        terms_(while_pid.terms),
        task_{.process = std::move(while_pid.process),
              .stop_signal = options.stop_signal,
              .at_end = options.on_lost == OnLost::kill ? process::AtEnd::kill : process::AtEnd::nothing,
              .marker = lease.token,
              .stops = options.while_pid == ::getppid() ? process::Stops::below_too : process::Stops::marked,
              .since = process::read_process(::getpid()).value_or(process::Process{}).start,
              .guard_title = "rlock-guard " + base::printable(options.key),
              .words = [this](base::Permit::Loss loss) { return words(loss); },
              .orphaned = [this] { release_late(); },
              .alone =
                  [this](const std::function<void()>& act) {
                    if (renewal_) return renewal_->while_asleep(act);
                    act();
                    return true;
                  }} {
    request_.fence = lease.fence;
  }

  int process_fd() const { return task_.process.fd(); }

  Result<void> begin() {
    permit_ = std::make_unique<base::Permit>(
        RLOCK_TRY(base::Permit::open(terms_.deadline(lease_.counts_from), terms_.kill_after, terms_.kill_time)));
    RLOCK_TRY(permit_->share());
    keeper_.emplace(*permit_, task_);
    RLOCK_TRY(keeper_->begin());
    if (task_.at_end == process::AtEnd::kill) {
      if (auto armed = permit_->arm(::getpid()); !armed)
        base::log_note("no kernel timer backs up the guard: " + armed.error().message);
    }
    backend_ = place_.open(options_.connect_timeout, stores::Purpose::held);
    held_.emplace(*backend_, request_);
    renewal_.emplace(*held_, lease_, terms_, *permit_, lock::OnRelease::end);
    auto started = renewal_->start();
    if (!started) keeper_->end();  // the guard would stop the process at the end of the lease
    return started;
  }

  void run() {
    const auto ending = keeper_->run();
    permit_->disarm();
    renewal_->stop();
    if (ending == process::Keeper::Ending::left_behind) {
      base::log_error("process " + std::to_string(task_.process.process().pid) +
                      ", or what it has started, cannot be killed; not releasing " + options_.key +
                      ", which is free when its lease ends");
      return;
    }
    if (ending != process::Keeper::Ending::released) release_everywhere(*held_, lease_ends());
    if (ending == process::Keeper::Ending::ended) report_released();
    keeper_->end();
    renewal_.reset();  // its thread ends before the process does
  }

 private:
  // In the guard of a keeper that is dead, over a connection of its own.
  void release_late() const {
    const auto backend = place_.open(release_try, stores::Purpose::held);
    lock::OneLease held(*backend, request_);
    release_everywhere(held, lease_ends());
  }

  base::Instant lease_ends() const { return terms_.ends_on_server(permit_->until()); }

  // To syslog alone: the process has ended, and its standard error with it.
  void report_released() const {
    show::report_released(options_.key, lease_.fence, base::BootClock::now() - lease_.counts_from);
  }

  std::string words(base::Permit::Loss loss) const {
    const bool revoked = loss > base::Permit::Loss::enforced;
    const std::string what = "process " + std::to_string(task_.process.process().pid);
    const auto lost = show::Lost::after(
        options_.key, lease_.fence, base::BootClock::now() - lease_.counts_from,
        revoked ? "the server says that it is not held with this token any more" : "it could not be renewed in time",
        task_.at_end == process::AtEnd::kill ? "stopping " + what : what + " goes on");
    return lost.for_syslog();
  }

  const Options& options_;
  const Place& place_;
  lock::Request request_;
  lock::Lease lease_;
  lock::LeaseTerms terms_;
  process::KeeperTask task_;
  std::unique_ptr<base::Permit> permit_;
  std::unique_ptr<lock::Backend> backend_;
  std::optional<lock::OneLease> held_;
  std::optional<process::Keeper> keeper_;
  std::optional<lock::Renewal> renewal_;
};

}  // namespace

Result<std::optional<WhilePid>> WhilePid::open(const Options& options) {
  if (options.while_pid == 0) return std::nullopt;
  auto opened = process::pin_other_process(options.while_pid);
  if (!opened) return base::fail(opened.error().code, "--while-pid: " + opened.error().message);
  const auto terms = RLOCK_TRY(lease_terms(options, lock::Renewing::yes));
  return WhilePid{std::move(*opened), terms};
}

Result<void> start_keeper(const Options& options, const Place& place, const lock::Request& request,
                          const lock::Lease& lease, WhilePid while_pid) {
  BackgroundKeeper keeper(options, place, request, lease, std::move(while_pid));
  return process::start_in_background({.name = "rlock-keeper",
                                       .title = "rlock-keeper " + base::printable(options.key),
                                       .left_open = {keeper.process_fd()},
                                       .begin = [&] { return keeper.begin(); },
                                       .run = [&] { keeper.run(); }});
}

}  // namespace rlock::commands
