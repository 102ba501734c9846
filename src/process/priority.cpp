#include "process/priority.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/fd.hpp"

namespace rlock::process {
namespace {

bool is_prompt = false;
constexpr int background_nice = 10;

// sched_setattr(2); glibc 2.36 has no name for it.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};

bool schedule(std::uint32_t policy, std::uint32_t priority, std::uint64_t slice_ns) {
  SchedulingAttributes attributes;
  attributes.policy = policy;
  attributes.priority = priority;
  attributes.nice = ::getpriority(PRIO_PROCESS, 0);
  attributes.runtime_ns = slice_ns;
  return ::syscall(SYS_sched_setattr, 0, &attributes, 0U) == 0;
}

constexpr std::uint64_t usual_slice_ns = 0;
// There is no longer one: hundreds get their share, but who wakes up has a turn before them.
constexpr std::uint64_t longest_slice_ns = 100'000'000;

void be_ordinary(std::uint64_t slice_ns) {
  if (std::exchange(is_prompt, false)) schedule(SCHED_OTHER, 0, slice_ns);
}

}  // namespace

void be_prompt() { is_prompt = schedule(SCHED_RR, 1, 0) || schedule(SCHED_OTHER, 0, 100'000); }

void step_back() {
  be_ordinary(longest_slice_ns);
  (void)::setpriority(PRIO_PROCESS, 0, background_nice);
  // A guard has a session of its own, so the kernel may give it the share of a whole session (sched(7), autogroup).
  const base::Fd group(::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC));
  const auto nice = std::to_string(background_nice);
  if (group) (void)!::write(group.get(), nice.data(), nice.size());
}

// Not with a long slice: on a busy machine it may then be a second until its turn, and the deadline passes in a look.
Ordinary::Ordinary() : was_prompt_(is_prompt) { be_ordinary(usual_slice_ns); }
Ordinary::~Ordinary() {
  if (was_prompt_) be_prompt();
}

}  // namespace rlock::process
