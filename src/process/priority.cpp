#include "process/priority.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace rlock::process {
namespace {

bool is_realtime = false;

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

}  // namespace

void be_prompt() {
  sched_param least{};
  least.sched_priority = ::sched_get_priority_min(SCHED_RR);
  is_realtime = ::sched_setscheduler(0, SCHED_RR, &least) == 0;
  if (is_realtime) return;
  SchedulingAttributes attributes;
  attributes.nice = ::getpriority(PRIO_PROCESS, 0);
  attributes.runtime_ns = 100'000;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0U);
}

void be_ordinary() {
  const sched_param none{};
  if (is_realtime && ::sched_setscheduler(0, SCHED_OTHER, &none) == 0) is_realtime = false;
}

Ordinary::Ordinary() : was_prompt_(is_realtime) { be_ordinary(); }
Ordinary::~Ordinary() {
  if (was_prompt_) be_prompt();
}

}  // namespace rlock::process
