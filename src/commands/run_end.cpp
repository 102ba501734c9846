#include "commands/run_end.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/exit_status.hpp"

namespace rlock::commands {

using base::BootClock;
using base::Duration;

void RunEnd::end(lock::LastRun run, Hold hold) {
  run_ = std::move(run);
  ended_ = BootClock::now();
  held_until_ = hold == Hold::yes ? since_ + options_.hold : base::Instant{};
}

void RunEnd::ended(int wait_status) {
  end(WIFSIGNALED(wait_status) ? lock::LastRun::ended_by(WTERMSIG(wait_status))
                               : lock::LastRun{.exit_status = WEXITSTATUS(wait_status)},
      Hold::yes);
}

void RunEnd::timed_out() { end({.exit_status = base::exit_timed_out}, Hold::yes); }

void RunEnd::killed() { end(lock::LastRun::ended_by(SIGKILL), Hold::yes); }

void RunEnd::lost() { end({.exit_status = base::exit_lost}, Hold::no); }

void RunEnd::not_started(int exit_status) { end({.exit_status = exit_status}, Hold::no); }

lock::ReleaseOptions RunEnd::release_options(const lock::Who& holder) const {
  auto run = run_;
  run.took = std::chrono::duration_cast<Duration>(ended_ - since_);
  run.once = options_.once;
  run.who = holder;
  return {.hold = std::max(std::chrono::ceil<Duration>(held_until_ - BootClock::now()), Duration::zero()),
          .last_run = run.encode(),
          .remember = options_.remember};
}

}  // namespace rlock::commands
