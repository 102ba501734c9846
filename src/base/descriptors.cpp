#include "base/descriptors.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/text/number.hpp"

namespace rlock::base {

std::vector<int> descriptors_from(int first) {
  std::vector<int> result;
  if (const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), ::closedir); directory) {
    while (const auto* entry = ::readdir(directory.get())) {
      const auto number = parse_number<int>(entry->d_name);
      if (number && *number >= first && *number != ::dirfd(directory.get())) result.push_back(*number);
    }
    return result;
  }
  constexpr rlim_t usual = 1024;
  constexpr rlim_t most = 1U << 20U;
  rlimit files{};
  const auto end = ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? std::clamp(files.rlim_max, usual, most) : usual;
  for (int number = first; number < static_cast<int>(end); ++number) result.push_back(number);
  return result;
}

void close_descriptors(int first, int last) {
  // By number: glibc has a function since 2.34 and musl has none.
  if (first > last || ::syscall(SYS_close_range, first, last, 0) == 0) return;
  for (const int number : descriptors_from(first)) {
    if (number <= last) ::close(number);
  }
}

}  // namespace rlock::base
