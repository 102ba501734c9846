#pragma once

#include <ucontext.h>

#include <cstddef>

namespace rlock::base {

/// Where a thread of execution stands while another one has the processor: its registers and its stack.
class SavedContext {
 public:
  /// The first switch to it calls entry(argument) on this stack, which grows down towards `bottom`. `entry` must never
  /// return, and switches away for the last time instead. size: in bytes, some kilobytes at least.
  void prepare(char* bottom, std::size_t size, void (*entry)(void*), void* argument);
  /// Keeps here where the caller stands, and goes on where `other` stands. Returns when somebody switches back.
  void switch_to(SavedContext& other);

 private:
#if defined(__GLIBC__)
  static void begin(unsigned low, unsigned high);

  ucontext_t context_{};
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
#else
  void* stack_pointer_ = nullptr;  ///< what a call preserves lies above it
#endif
};

}  // namespace rlock::base
