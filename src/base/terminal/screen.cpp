#include "base/terminal/screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/text/number.hpp"

namespace rlock::base {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::size_t known_or(unsigned short from_terminal, const char* name, std::size_t otherwise) {
  if (from_terminal > 0) return from_terminal;
  const auto from_environment = parse_number<unsigned short>(variable(name)).value_or(0);
  return from_environment > 0 ? from_environment : otherwise;
}

}  // namespace

bool is_screen(int fd) {
  const auto term = variable("TERM");
  return !term.empty() && term != "dumb" && ::isatty(fd) == 1;
}

bool wants_colour(int fd) { return variable("NO_COLOR").empty() && is_screen(fd); }

ScreenSize screen_size(int fd) {
  winsize size{};
  ::ioctl(fd, TIOCGWINSZ, &size);
  return {known_or(size.ws_col, "COLUMNS", 80), known_or(size.ws_row, "LINES", 24)};
}

}  // namespace rlock::base
