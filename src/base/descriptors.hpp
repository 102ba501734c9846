#pragma once

#include <vector>

namespace rlock::base {

/// The descriptors of this process from `first` on, in any order, as far as /proc tells; else all numbers that a limit
/// or the kernel's default (1,024) allows, open or not.
std::vector<int> descriptors_from(int first);

/// Closes those from `first` to `last`, both included. Works on kernels that have no close_range(2) or deny it. Safe in
/// a child that was forked while there was one thread.
void close_descriptors(int first, int last);

/// The highest number that a descriptor can have.
constexpr int max_descriptor = 0x7fffffff;

}  // namespace rlock::base
