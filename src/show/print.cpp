#include "show/print.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/exit_status.hpp"
#include "base/log.hpp"

namespace rlock::show {

bool print(std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

int print_for_reader(std::string_view text) {
  if (print(text) || errno == EPIPE) return base::exit_success;
  base::log_error("cannot write to standard output", {"error", {{"exit_status", std::int64_t{base::exit_internal}}}});
  return base::exit_internal;
}

}  // namespace rlock::show
