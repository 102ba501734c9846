#include "process/family.hpp"

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
using From = Children::From;

/// A child with two children of its own, the second forked by another thread; all of them sleep.
class Tree {
 public:
  Tree() {
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
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    Family family(below_us(), From::walk);
    family.look_below(base::never);
    family.signal(SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  pid_t child() const { return child_; }

  static Scope below_us() { return {.root = {.pid = ::getpid()}}; }

  static std::vector<pid_t> look(From how, const Scope& scope = below_us(), pid_t left_out = 0) {
    Family family(scope, how);
    family.leave_out(left_out);
    EXPECT_EQ(family.look_below(base::never), Looked::complete);
    // Nobody twice.
    EXPECT_EQ(family.look_below(base::never), Looked::complete);
    std::vector<pid_t> found;
    for (const auto& member : family.members()) found.push_back(member.process().pid);
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

TEST(Family, IsTheSameByTheListsOfChildrenAndByAWalkOverAll) {
  const Tree tree;
  auto below = Tree::look(From::lists);
  auto everywhere = Tree::look(From::walk);
  ASSERT_EQ(below.size(), 3U);
  EXPECT_EQ(below.front(), tree.child());
  EXPECT_EQ(everywhere.front(), tree.child());
  std::ranges::sort(below);
  std::ranges::sort(everywhere);
  EXPECT_EQ(below, everywhere);
}

TEST(Family, LeavesOutWhomItIsTold) {
  const Tree tree;
  for (const auto how : {From::lists, From::walk}) EXPECT_TRUE(Tree::look(how, Tree::below_us(), tree.child()).empty());
  Family family(Tree::below_us());
  EXPECT_EQ(family.is_childless(), std::optional(false));
  family.leave_out(tree.child());
  EXPECT_EQ(family.is_childless(), std::optional(true));
}

TEST(Family, LeavesOutChildrenFromBeforeWithAllBelow) {
  const Tree tree;
  auto scope = Tree::below_us();
  scope.before = children_so_far();
  ASSERT_EQ(scope.before.size(), 1U);
  for (const auto how : {From::lists, From::walk}) EXPECT_TRUE(Tree::look(how, scope).empty());
  EXPECT_EQ(Family(scope).is_childless(), std::optional(true));
}

TEST(Family, OfSomebodyOlderThanItIsNot) {
  const Tree tree;
  auto scope = Tree::below_us();
  scope.since = read_process(tree.child())->start + 1;
  EXPECT_TRUE(Tree::look(From::lists, scope).empty());
}

TEST(Family, ForgetsWhoHasEndedThoughLooksAreCutShort) {
  Family family(Tree::below_us());
  {
    const Tree tree;
    family.look_below(base::never);
    EXPECT_EQ(family.members().size(), 3U);
  }
  // The grandchildren lose their parent, and end by themselves at the SIGKILL.
  const auto give_up = BootClock::now() + 10s;
  do {
    family.look_below(BootClock::now() - 1s);
  } while (!family.members().empty() && BootClock::now() < give_up);
  EXPECT_TRUE(family.members().empty());
}

TEST(Family, IsNotLookedForPastTheEnd) {
  const Tree tree;
  for (const auto how : {From::lists, From::walk}) {
    auto scope = Tree::below_us();
    scope.marker = path_variable();
    Family family(scope, how);
    EXPECT_EQ(family.look_below(BootClock::now() - 1s), Looked::cut_short);
    EXPECT_EQ(family.search(BootClock::now() - 1s), Looked::cut_short);
    EXPECT_TRUE(family.members().empty());
  }
}

TEST(Family, IsFoundByItsMarkerAndNobodyFromBefore) {
  const Tree tree;
  const auto finds_child = [&](const std::string& marker, unsigned long long since) {
    Family family({.marker = marker, .since = since, .adopts = false});
    EXPECT_EQ(family.search(base::never), Looked::complete);
    return std::ranges::count(family.members(), tree.child(),
                              [](const PinnedProcess& member) { return member.process().pid; });
  };
  EXPECT_EQ(finds_child(path_variable(), 0), 1);
  EXPECT_EQ(finds_child(path_variable(), read_process(tree.child())->start + 1), 0);
  EXPECT_EQ(finds_child(path_variable() + "?", 0), 0);
}

TEST(PinnedProcess, IsAliveAsAZombieThatHasOtherThreads) {
  EXPECT_TRUE((Process{.state = 'Z', .threads = 1}).is_dead());
  EXPECT_FALSE((Process{.state = 'Z', .threads = 2}).is_dead());
}

TEST(PinnedProcess, SendsNothingToALaterProcessWithItsPid) {
  const Tree tree;
  auto earlier = *read_process(tree.child());
  --earlier.start;
  EXPECT_EQ(PinnedProcess(earlier, {}).send(0), ESRCH);
  EXPECT_EQ(PinnedProcess(*read_process(tree.child()), {}).send(0), 0);
}

}  // namespace
}  // namespace rlock::process
