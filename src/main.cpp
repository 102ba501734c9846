#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "base/title.hpp"
#include "cli/parse.hpp"
#include "commands/options.hpp"
#include "show/log_json.hpp"
#include "show/print.hpp"

namespace {

using rlock::commands::Options;

// A caller may have closed 0, 1 or 2. A socket of ours must not get one of these numbers, so they are opened as a
// /dev/null that can be used for nothing. It is closed on exec, so that the command finds them closed too.
void occupy_standard_descriptors() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const int useless = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", useless | O_CLOEXEC);
  }
}

// A mistyped option is reported in the format that the environment asks for, though the environment is read after the
// options.
void set_log_format() {
  const char* format = std::getenv("RLOCK_LOG_FORMAT");
  if (format != nullptr && std::string_view(format) == "json") {
    rlock::show::set_log_format(rlock::show::LogFormat::json);
  }
}

int parse_and_dispatch(std::span<char*> arguments, Options& options) {
  try {
    const auto parsed = rlock::cli::parse(arguments, options);
    if (const auto* finished = std::get_if<rlock::cli::Finished>(&parsed)) return finished->exit_status;
    return std::get<rlock::cli::Handler>(parsed)(options);
  } catch (const std::exception& error) {
    rlock::base::log_error(error.what(), {"error", {{"exit_status", std::int64_t{rlock::base::exit_internal}}}});
    return rlock::base::exit_internal;
  }
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_descriptors();
  rlock::base::remember_arguments(argc, argv);
  set_log_format();
  Options options;
  const int status = parse_and_dispatch({argv + (argc > 0 ? 1 : 0), argv + argc}, options);
  // `eval "$(rlock acquire --export KEY)"` succeeds when there is nothing to evaluate, and the script would go on
  // without the lock, under set -e too.
  if (status != rlock::base::exit_success && options.format == rlock::commands::Format::shell) {
    (void)rlock::show::print("(exit " + std::to_string(status) + ")\n");
  }
  return status;
}
