#include "base/read.hpp"

#include <unistd.h>

#include <array>
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

std::optional<std::string> read_all(int fd) {
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    const auto n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace rlock::base
