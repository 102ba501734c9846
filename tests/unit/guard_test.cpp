// Processes that are forked off: what they throw ends them, and nobody else.
#include "process/guard.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

namespace rlock::process {
namespace {

TEST(Guard, AnExceptionEndsItWhereItStands) {
  constexpr int unwound = 42;
  const pid_t test = ::getpid();
  try {
    auto guard =
        Guard::fork_off("rlock-guard", "rlock-guard test", {}, [](int) { throw std::runtime_error("planted"); });
    ASSERT_TRUE(guard);
    int status = 0;
    ASSERT_EQ(::waitpid(guard->pid(), &status, 0), guard->pid());
    guard->forget();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
  } catch (const std::runtime_error&) {
    if (::getpid() != test) ::_exit(unwound);
    throw;
  }
}

}  // namespace
}  // namespace rlock::process
