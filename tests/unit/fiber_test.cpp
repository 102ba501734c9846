#include "base/wait/fiber.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>

#include "base/wait/event.hpp"

namespace rlock::base {
namespace {

using namespace std::chrono_literals;

Wait for_a_while(Poller& poller) { return {BootClock::now() + 5s, poller}; }

Readiness wait_for(const Event& event, Poller& poller, Instant until = never) {
  pollfd fd{event.fd(), POLLIN, 0};
  return poller.wait({&fd, 1}, until);
}

TEST(Fiber, RunsUntilItWaitsAndGoesOnWhenItsDescriptorIsReady) {
  const auto event = *Event::open();
  std::string steps;
  Fiber fiber;
  PlainPoller plain;
  ASSERT_TRUE(fiber.start([&](Poller& poller) {
    steps += 'a';
    steps += wait_for(event, poller) == Readiness::ready ? 'b' : '?';
  }));
  EXPECT_EQ(steps, "a");
  EXPECT_TRUE(fiber.is_running());
  event.raise();
  std::array<Fiber*, 1> all{&fiber};
  EXPECT_EQ(drive(all, {}, for_a_while(plain)), Readiness::ready);
  EXPECT_EQ(steps, "ab");
  EXPECT_FALSE(fiber.is_running());
}

TEST(Fiber, SeveralWaitSideBySideAndTheSoonestGoesFirst) {
  std::string steps;
  Fiber slow;
  Fiber fast;
  PlainPoller plain;
  const auto now = BootClock::now();
  slow.start([&](Poller& poller) { steps += poller.wait({}, now + 1s) == Readiness::timed_out ? 's' : '?'; });
  fast.start([&](Poller& poller) { steps += poller.wait({}, now + 5ms) == Readiness::timed_out ? 'f' : '?'; });
  std::array<Fiber*, 2> all{&slow, &fast};
  while (slow.is_running()) drive(all, {}, for_a_while(plain));
  EXPECT_EQ(steps, "fs");
}

TEST(Fiber, CancelInterruptsEachWaitAndRunsTheCallToItsEnd) {
  std::string steps;
  Fiber fiber;
  fiber.start([&](Poller& poller) {
    const std::string kept = "a destructor that has to run";
    if (poller.wait({}, never) == Readiness::interrupted) steps += 'i';
    if (poller.wait({}, never) == Readiness::interrupted) steps += 'i';
  });
  std::thread([&] { fiber.cancel(); }).join();
  EXPECT_EQ(steps, "ii");
  EXPECT_FALSE(fiber.is_running());
}

TEST(Fiber, IsUsedAgain) {
  int calls = 0;
  Fiber fiber;
  for (int i = 0; i < 100; ++i) fiber.start([&](Poller&) { ++calls; });
  EXPECT_EQ(calls, 100);
}

TEST(Fiber, TheWaitOfTheDriverEndsWhileAFiberGoesOnWaiting) {
  Fiber fiber;
  PlainPoller plain;
  fiber.start([&](Poller& poller) { poller.wait({}, never); });
  std::array<Fiber*, 1> all{&fiber};
  EXPECT_EQ(drive(all, {}, {BootClock::now() + 5ms, plain}), Readiness::timed_out);
  EXPECT_TRUE(fiber.is_running());
}

}  // namespace
}  // namespace rlock::base
