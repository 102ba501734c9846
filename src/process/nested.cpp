#include "process/nested.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace rlock::process {

using base::BootClock;
using base::Instant;

// The race: the outer run's command has ended, and the outer run looks for nested runs before it releases. Meanwhile a
// nested run starts, asks the server, hears that the lock is held, and goes on while the outer run releases.
//
//     outer                                         nested
//     1. calls itself `rlock-releasing`             1. calls itself `rlock-nested`
//     2. looks for those called `rlock-nested`      2. looks whether the outer one is called `rlock-releasing`
//        none: releases, under that name               no: runs its command
//        some: takes its old name back, waits          yes: waits until the name has changed or the outer one is gone
//
// Of the two, the one that takes its second step later sees the name of the other. So the outer run cannot release
// while the nested run works. Either the outer run looked after the nested run had set its name: then it sees that name
// and waits. Or it looked before: then the nested run looks later still, and sees the outer run's name. If both see
// each other, only the outer run goes back.
//
// Neither waits for ever. The nested run waits only while the outer run is in step 2 or releases, and then the outer
// run waits for no process. The outer run waits only for processes that have its token and the name: a run that decides
// to acquire the lock in the ordinary way drops the name before it queues, and a nested run of another lock has another
// token.

namespace {

constexpr const char* releasing = "rlock-releasing";
constexpr auto look_pause = std::chrono::milliseconds(2);

std::string own_name() {
  std::array<char, 17> name{};
  ::prctl(PR_GET_NAME, name.data());
  return name.data();
}

void set_own_name(const char* name) { ::prctl(PR_SET_NAME, name); }

bool is_above_us(pid_t wanted) {
  // A process whose parent dies on the way gets another parent: then start again.
  for (int tries = 0; tries < 100; ++tries) {
    auto pid = ::getppid();
    while (pid > 1 && pid != wanted) {
      const auto process = read_process(pid);
      if (!process) break;
      pid = process->parent;
    }
    if (pid == wanted) return true;
    if (pid <= 1) return false;
  }
  return false;
}

// Empty when it is gone.
std::string name_of(pid_t pid) {
  const auto process = read_process(pid);
  return process ? process->name : "";
}

}  // namespace

NestedName::NestedName() : before_(own_name()) { set_own_name(name); }
NestedName::~NestedName() {
  if (!stays_) set_own_name(before_.c_str());
}

std::optional<OuterRun> OuterRun::find(pid_t pid) {
  auto fd = open_pid(pid);
  // A nested run that renews by itself, in a shell that holds the lock, has the shell's pid when it was started by
  // exec.
  if (!fd || !is_above_us(pid) || !runs_our_program(pid) || name_of(pid) == NestedName::name) return std::nullopt;
  return OuterRun(pid, std::move(fd));
}

std::optional<OuterRun> OuterRun::find_by(const std::string& marker) {
  // From its command down to us all have it in their environment, but the run itself has not.
  auto pid = ::getppid();
  while (pid > 1 && is_marked(pid, marker) == Marked::yes) {
    const auto process = read_process(pid);
    if (!process) return std::nullopt;
    pid = process->parent;
  }
  return find(pid);
}

base::Result<OuterRun::State> OuterRun::state_by(Instant until, base::Poller& poller) const {
  while (true) {
    // Read the name first: if the pid was reused meanwhile, the descriptor shows that the outer run has ended.
    const bool is_releasing = name_of(pid_) == releasing;
    std::array<pollfd, 1> fds{pollfd{fd_.get(), POLLIN, 0}};
    const auto now = BootClock::now();
    switch (poller.wait(fds, is_releasing ? std::min(until, now + look_pause) : now)) {
      case base::Readiness::interrupted:
        return base::interrupted();
      case base::Readiness::ready:
        return State::gone;
      case base::Readiness::timed_out:
        break;
    }
    if (!is_releasing) return State::holds;
    if (BootClock::now() >= until) return State::releasing;
  }
}

bool NestedRuns::none_left(pid_t guard) {
  if (marker_.empty()) return true;
  std::erase_if(runs_, [](PinnedProcess& run) { return !run.refresh() || run.process().name != NestedName::name; });
  if (runs_.empty()) {
    const auto before = own_name();
    set_own_name(releasing);
    search(guard);
    if (runs_.empty()) return true;
    set_own_name(before.c_str());
  }
  fds_.clear();
  for (const auto& run : runs_) fds_.push_back({run.fd(), POLLIN, 0});
  return false;
}

void NestedRuns::search(pid_t guard) {
  Family family({.root = {.pid = ::getpid()}, .marker = marker_, .guards = Guards::included});
  family.leave_out(guard);
  // The environment of another user's process cannot be read: if it is below us, it counts as nested in this run.
  const auto take_nested = [&] {
    for (const auto& member : family.members()) {
      const auto& process = member.process();
      if (process.name == NestedName::name && is_marked(process.pid, marker_) != Marked::no) {
        runs_.emplace_back(process, open_pid(process.pid));
      }
    }
  };
  family.look_below(base::never);
  take_nested();
  if (!runs_.empty()) return;
  // If parents die meanwhile, the look above can miss a process; a look at all processes cannot. The search is new each
  // time, because a process seen before may have set its name since.
  family.search(base::never);
  take_nested();
}

}  // namespace rlock::process
