#include "base/wait/stack_switch.hpp"

#include <cstdint>

#if defined(__GLIBC__)

namespace rlock::base {

void SavedContext::prepare(char* bottom, std::size_t size, void (*entry)(void*), void* argument) {
  entry_ = entry;
  argument_ = argument;
  ::getcontext(&context_);
  context_.uc_stack.ss_sp = bottom;
  context_.uc_stack.ss_size = size;
  context_.uc_link = nullptr;
  // makecontext passes ints only.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  ::makecontext(&context_, reinterpret_cast<void (*)()>(&SavedContext::begin), 2, static_cast<unsigned>(self),
                static_cast<unsigned>(self >> 32U));
}

void SavedContext::begin(unsigned low, unsigned high) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): see prepare
  auto* const self = reinterpret_cast<SavedContext*>((static_cast<std::uintptr_t>(high) << 32U) | low);
  self->entry_(self->argument_);
}

void SavedContext::switch_to(SavedContext& other) { ::swapcontext(&context_, &other.context_); }

}  // namespace rlock::base

#else

// musl declares makecontext and swapcontext and has neither. Besides the stack pointer a call preserves these registers
// alone; the modes of the floating-point units and the signal mask are the same on both sides.
extern "C" {
void rlock_switch_stack(void** kept, void* other);
void rlock_begin_stack();
}

#if defined(__x86_64__)

// Popped in this order: r15, r14, r13, r12 (entry), rbx (argument), rbp, and where to go.
asm(R"(
.pushsection .text.rlock_switch_stack,"ax",@progbits
.type rlock_switch_stack,@function
rlock_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size rlock_switch_stack, .-rlock_switch_stack
.type rlock_begin_stack,@function
rlock_begin_stack:
  movq %rbx, %rdi
  call *%r12
  ud2
.size rlock_begin_stack, .-rlock_begin_stack
.popsection
)");

namespace {
constexpr std::size_t slots = 7;
constexpr std::size_t entry_slot = 3;
constexpr std::size_t argument_slot = 4;
constexpr std::size_t return_slot = 6;
}  // namespace

#elif defined(__aarch64__)

asm(R"(
.pushsection .text.rlock_switch_stack,"ax",@progbits
.type rlock_switch_stack,%function
rlock_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size rlock_switch_stack, .-rlock_switch_stack
.type rlock_begin_stack,%function
rlock_begin_stack:
  mov x0, x20
  blr x19
  brk #1
.size rlock_begin_stack, .-rlock_begin_stack
.popsection
)");

namespace {
constexpr std::size_t slots = 20;
constexpr std::size_t entry_slot = 0;
constexpr std::size_t argument_slot = 1;
constexpr std::size_t return_slot = 11;
}  // namespace

#else
#error "this libc has no swapcontext, and stack_switch.cpp knows no other way on this processor"
#endif

namespace rlock::base {

void SavedContext::prepare(char* bottom, std::size_t size, void (*entry)(void*), void* argument) {
  constexpr std::size_t alignment = 16;
  auto* const top = bottom + size / alignment * alignment;
  auto* const kept = reinterpret_cast<void**>(top) - slots;
  for (std::size_t slot = 0; slot < slots; ++slot) kept[slot] = nullptr;
  kept[entry_slot] = reinterpret_cast<void*>(entry);
  kept[argument_slot] = argument;
  kept[return_slot] = reinterpret_cast<void*>(&rlock_begin_stack);
  stack_pointer_ = kept;
}

void SavedContext::switch_to(SavedContext& other) { rlock_switch_stack(&stack_pointer_, other.stack_pointer_); }

}  // namespace rlock::base

#endif
