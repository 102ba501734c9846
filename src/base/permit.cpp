#include "base/permit.hpp"

#include <sys/mman.h>

#include <new>

namespace rlock::base {

Result<Permit> Permit::open(Instant until, std::chrono::nanoseconds grace, std::chrono::nanoseconds kill_time) {
  auto wake = RLOCK_TRY(Event::open());
  return Permit(new Shared{until.time_since_epoch().count(), Loss::none, false}, std::move(wake), grace, kill_time);
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

void Permit::end() { shared_->over = true; }

}  // namespace rlock::base
