#include "process/descendants.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace rlock::process {
namespace {

using namespace std::chrono_literals;
using base::BootClock;

/// A child with two children of its own, the second forked by another thread; all of them sleep.
class Family {
 public:
  Family() {
    std::array<int, 2> ready{};
    EXPECT_EQ(::pipe(ready.data()), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const auto add = [] {
        if (::fork() == 0) {
          while (true) ::pause();
        }
      };
      add();
      std::thread([&] {
        add();
        (void)!::write(ready[1], "x", 1);
        while (true) ::pause();
      }).join();
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;
  ~Family() {
    for (const auto& process : look(look_everywhere)) send_signal(process, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  pid_t child() const { return child_; }

  static std::vector<Process> look(decltype(look_below) how, pid_t except = 0, base::Instant until = base::never) {
    const std::array roots{read_process(::getpid()).value_or(Process{})};
    std::vector<Process> found;
    how(roots, except, until, [&](const Process& process) { found.push_back(process); });
    return found;
  }

 private:
  pid_t child_ = 0;
};

// One that this process has, and its children too.
std::string path_variable() {
  const char* path = ::getenv("PATH");
  return std::string("PATH=") + (path != nullptr ? path : "");
}

TEST(Descendants, AreTheSameByTheirParentsListsAndByAWalkOverAll) {
  const Family family;
  auto below = Family::look(look_below);
  auto everywhere = Family::look(look_everywhere);
  ASSERT_EQ(below.size(), 3U);
  EXPECT_EQ(below.front().pid, family.child());
  EXPECT_EQ(everywhere.front().pid, family.child());
  std::ranges::sort(below, {}, &Process::pid);
  std::ranges::sort(everywhere, {}, &Process::pid);
  EXPECT_EQ(below, everywhere);
}

TEST(Descendants, LeaveOutWhomTheyAreTold) {
  const Family family;
  EXPECT_TRUE(Family::look(look_below, family.child()).empty());
  EXPECT_TRUE(Family::look(look_everywhere, family.child()).empty());
  EXPECT_EQ(has_no_child(family.child()), std::optional(true));
  EXPECT_EQ(has_no_child(0), std::optional(false));
}

TEST(Descendants, AreNotLookedForPastTheEnd) {
  const Family family;
  const std::array roots{*read_process(::getpid())};
  const auto none = [](const Process&) { FAIL(); };
  EXPECT_EQ(look_below(roots, 0, BootClock::now() - 1s, none), Looked::cut_short);
  EXPECT_EQ(look_everywhere(roots, 0, BootClock::now() - 1s, none), Looked::cut_short);
  MarkedSearch search(path_variable(), 0);
  EXPECT_EQ(search.round(BootClock::now() - 1s, none), Looked::cut_short);
}

TEST(Descendants, OfAZombieThatHasOtherThreadsAreAlive) {
  EXPECT_TRUE((Process{.state = 'Z', .threads = 1}).is_dead());
  EXPECT_FALSE((Process{.state = 'Z', .threads = 2}).is_dead());
}

TEST(MarkedSearch, FindsEachOnceAndNobodyFromBefore) {
  const Family family;
  const std::string path = path_variable();
  const auto count = [&](MarkedSearch& search) {
    int found = 0;
    EXPECT_EQ(search.round(base::never, [&](const Process& process) { found += process.pid == family.child(); }),
              Looked::complete);
    return found;
  };
  MarkedSearch search(path, 0);
  EXPECT_EQ(count(search), 1);
  EXPECT_EQ(count(search), 0);
  MarkedSearch later(path, read_process(family.child())->start + 1);
  EXPECT_EQ(count(later), 0);
  MarkedSearch other(path + "?", 0);
  EXPECT_EQ(count(other), 0);
}

}  // namespace
}  // namespace rlock::process
