#include "process/hunt.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/poller.hpp"

namespace rlock::process {

using base::BootClock;
using base::Instant;

void pause_between_looks() { base::PlainPoller().wait({}, BootClock::now() + std::chrono::milliseconds(1)); }

void Hunt::add(const Process& process) {
  if (std::ranges::find(known_, process) == known_.end()) known_.push_back(process);
}

bool Hunt::is_over() {
  std::erase_if(known_, [](const Process& process) { return !is_alive(process); });
  return known_.empty();
}

void Hunt::kill_known() const {
  for (const auto& process : known_) send_signal(process, SIGKILL);
}

bool Hunt::kill_all(Instant give_up) {
  kill_known();
  kill_families(known_, give_up);
  MarkedSearch search(marker_, since_);
  for (int empty = 0; empty < min_empty_looks;) {
    bool any = false;
    auto looked = Looked::complete;
    if (!marker_.empty()) {
      looked = search.round(give_up, [&](const Process& process) {
        any = true;
        kill_families({process}, give_up);
      });
    }
    const bool none_known = is_over();
    kill_known();
    empty = !any && none_known && looked == Looked::complete ? empty + 1 : 0;
    if (BootClock::now() >= give_up) return known_.empty() && looked != Looked::blind;
    pause_between_looks();
  }
  return true;
}

// Kills these and all below them. They are stopped first: a stopped process starts no others and keeps its children,
// so that they can be found.
void Hunt::kill_families(std::vector<Process> family, Instant until) {
  const auto parents = family;
  for (const auto& process : parents) send_signal(process, SIGSTOP);
  look_below(parents, ::getpid(), until, [&](const Process& process) {
    send_signal(process, SIGSTOP);
    family.push_back(process);
  });
  for (const auto& process : family) {
    send_signal(process, SIGKILL);
    add(process);
  }
}

}  // namespace rlock::process
