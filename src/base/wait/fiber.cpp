#include "base/wait/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace rlock::base {
namespace {

// A handshake of TLS and a look-up of names take some 40 kB; pages that are not touched cost nothing.
constexpr std::size_t stack_size = 256U << 10U;

}  // namespace

// Below it lies a page that nobody may touch: one call too deep must not write into other memory.
struct Fiber::Stack {
  Stack() : guard(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    void* const got = ::mmap(nullptr, guard + stack_size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) return;
    memory = static_cast<char*>(got);
    ::mprotect(memory, guard, PROT_NONE);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  ~Stack() {
    if (memory != nullptr) ::munmap(memory, guard + stack_size);
  }
  char* bottom() const { return memory + guard; }

  std::size_t guard;
  char* memory = nullptr;
};

Fiber::Fiber() = default;

Fiber::~Fiber() {
  cancel();
#if defined(__SANITIZE_THREAD__)
  if (tsan_inside_ != nullptr) __tsan_destroy_fiber(tsan_inside_);
#endif
}

bool Fiber::start(std::function<void(Poller&)> call) {
  if (!stack_) stack_ = std::make_unique<Stack>();
  if (stack_->memory == nullptr) {
    stack_.reset();
    return false;
  }
  call_ = std::move(call);
  is_running_ = true;
  is_cancelled_ = false;
  inside_.prepare(stack_->bottom(), stack_size, &Fiber::run, this);
#if defined(__SANITIZE_THREAD__)
  if (tsan_inside_ == nullptr) tsan_inside_ = __tsan_create_fiber(0);
#endif
  fake_stack_ = nullptr;
  resume();
  return true;
}

void Fiber::run(void* fiber) {
  auto* const self = static_cast<Fiber*>(fiber);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &self->outer_bottom_, &self->outer_size_);
#endif
  self->call_(*self);
  self->call_ = nullptr;
  self->fds_ = {};
  self->is_running_ = false;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, self->outer_bottom_, self->outer_size_);  // nullptr: it ends here
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(self->tsan_outside_, 0);
#endif
  self->inside_.switch_to(self->outside_);
}

void Fiber::resume() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&outer_fake_stack_, stack_->bottom(), stack_size);
#endif
#if defined(__SANITIZE_THREAD__)
  tsan_outside_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_inside_, 0);
#endif
  outside_.switch_to(inside_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(outer_fake_stack_, nullptr, nullptr);
#endif
}

// Called by the call, on its stack.
Readiness Fiber::wait(std::span<pollfd> fds, Instant until) {
  if (is_cancelled_) return Readiness::interrupted;
  fds_ = fds;
  until_ = until;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&fake_stack_, outer_bottom_, outer_size_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(tsan_outside_, 0);
#endif
  inside_.switch_to(outside_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack_, &outer_bottom_, &outer_size_);
#endif
  fds_ = {};
  return readiness_;
}

void Fiber::advance(std::span<const pollfd> fds) {
  if (!is_running_) return;
  const bool is_ready = std::ranges::any_of(fds, [](const pollfd& fd) { return fd.revents != 0; });
  if (!is_ready && BootClock::now() < until_) return;
  std::ranges::copy(fds, fds_.begin());
  readiness_ = is_ready ? Readiness::ready : Readiness::timed_out;
  resume();
}

void Fiber::cancel() {
  if (!is_running_) return;
  is_cancelled_ = true;
  readiness_ = Readiness::interrupted;
  resume();  // to its end, since it cannot wait any more
}

void take_over(std::thread::id& owner, std::span<Fiber* const> fibers) {
  const auto thread = std::this_thread::get_id();
  if (std::exchange(owner, thread) == thread) return;
  for (auto* const fiber : fibers) fiber->cancel();
}

Readiness drive(std::span<Fiber* const> fibers, std::span<pollfd> fds, Wait wait) {
  std::vector<pollfd> all(fds.begin(), fds.end());
  auto until = wait.until();
  for (auto* const fiber : fibers) {
    if (!fiber->is_running()) continue;
    all.insert(all.end(), fiber->fds().begin(), fiber->fds().end());
    until = std::min(until, fiber->until());
  }
  const auto readiness = wait.at_most(until)(all);
  if (readiness == Readiness::interrupted) return readiness;
  std::ranges::copy_n(all.begin(), static_cast<std::ptrdiff_t>(fds.size()), fds.begin());
  auto theirs = std::span<const pollfd>(all).subspan(fds.size());
  // Where each one's descriptors stand is settled before the first goes on: it may have others when it waits again.
  std::vector<std::pair<Fiber*, std::span<const pollfd>>> waiting;
  for (auto* const fiber : fibers) {
    if (!fiber->is_running()) continue;
    const auto count = fiber->fds().size();
    waiting.emplace_back(fiber, theirs.first(count));
    theirs = theirs.subspan(count);
  }
  for (const auto& [fiber, ready] : waiting) fiber->advance(ready);
  return readiness;
}

}  // namespace rlock::base
