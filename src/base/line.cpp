#include "base/line.hpp"

#include <unistd.h>

#include <cerrno>

namespace rlock::base {

std::optional<std::string> read_line(int fd, std::size_t max) {
  std::string line;
  char c = 0;
  while (line.size() <= max) {
    const auto n = ::read(fd, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0 || c == '\n') return line;
    line += c;
  }
  return std::nullopt;
}

}  // namespace rlock::base
