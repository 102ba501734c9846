#include "base/permit.hpp"

#include <sys/mman.h>

#include <csignal>
#include <new>

namespace rlock::base {

Result<Permit> Permit::open(Instant until, std::chrono::nanoseconds kill_after, std::chrono::nanoseconds kill_time) {
  auto wake = RLOCK_TRY(Event::open());
  return Permit(new Shared{until.time_since_epoch().count(), Loss::none, false}, std::move(wake), kill_after,
                kill_time);
}

Result<void> Permit::share() {
  if (shared_.get_deleter().is_mapped) return {};
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail_errno(ErrorCode::internal, "mmap");
  auto* shared = new (memory) Shared{shared_->until.load(), shared_->loss.load(), shared_->over.load()};
  shared_ = {shared, Free{true}};
  return {};
}

void Permit::Free::operator()(Shared* shared) const {
  if (is_mapped) {
    ::munmap(shared, sizeof(Shared));
  } else {
    delete shared;
  }
}

Instant Permit::until() const { return Instant(Instant::duration(shared_->until.load())); }
Permit::Loss Permit::loss() const { return shared_->loss; }
bool Permit::over() const { return shared_->over; }

void Permit::extend(Instant until) {
  const auto wanted = until.time_since_epoch().count();
  auto current = shared_->until.load();
  while (current < wanted && !shared_->until.compare_exchange_weak(current, wanted)) {
  }
  timer_.move(this->until());
}

void Permit::raise(Loss loss) {
  auto current = shared_->loss.load();
  while (current < loss && !shared_->loss.compare_exchange_weak(current, loss)) {
  }
}

void Permit::revoke(Loss loss) {
  raise(loss);
  wake_.raise();
}

void Permit::end() {
  shared_->over = true;
  disarm();
}

Result<void> Permit::arm(pid_t self) {
  if (self == 1) return fail(ErrorCode::internal, "a kernel timer cannot end process 1");
  return timer_.arm(until());
}

Result<void> Permit::KillTimer::arm(Instant at) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  if (::timer_create(CLOCK_BOOTTIME, &event, &timer_) != 0) return fail_errno(ErrorCode::internal, "timer_create");
  is_set_ = true;
  move(at);
  return {};
}

// A timer that was taken away meanwhile, or is that of the process which forked this one, is none to the kernel.
void Permit::KillTimer::move(Instant at) const {
  if (!is_set_) return;
  itimerspec spec{};
  spec.it_value = to_timespec(at.time_since_epoch());
  ::timer_settime(timer_, TIMER_ABSTIME, &spec, nullptr);
}

void Permit::KillTimer::disarm() {
  if (is_set_.exchange(false)) ::timer_delete(timer_);
}

}  // namespace rlock::base
