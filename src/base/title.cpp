#include "base/title.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace rlock::base {
namespace {

// argv's strings stand one behind the other, each with its NUL.
std::span<char> memory;

}  // namespace

void remember_arguments(int argc, char** argv) {
  if (argc > 0) memory = {argv[0], argv[argc - 1] + std::strlen(argv[argc - 1]) + 1};
}

void set_title(std::string_view title) {
  if (memory.empty()) return;
  // The last byte stays NUL: otherwise the kernel would read on into the environment.
  const auto size = std::min(title.size(), memory.size() - 1);
  std::ranges::fill(memory, '\0');
  std::ranges::copy(title.substr(0, size), memory.begin());
}

}  // namespace rlock::base
