#include <fcntl.h>
#include <unistd.h>

#include <exception>

#include "base/exit_status.hpp"
#include "base/log.hpp"
#include "base/title.hpp"
#include "cli/parse.hpp"
#include "commands/verbs.hpp"

namespace {

using rlock::commands::Options;
using rlock::commands::Verb;

// A caller may have closed 0, 1 or 2. A socket of ours must not take their place; what does is closed
// again on exec, so that the command finds them closed too. It can be used for nothing, as a closed one.
void occupy_standard_descriptors() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const int useless = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", useless | O_CLOEXEC);
  }
}

int dispatch(const Options& options) {
  switch (options.verb) {
    case Verb::run:
      return rlock::commands::run(options);
    case Verb::acquire:
      return rlock::commands::acquire(options);
    case Verb::renew:
      return rlock::commands::renew(options);
    case Verb::release:
      return rlock::commands::release(options);
    case Verb::status:
      return rlock::commands::status(options);
  }
  return rlock::base::exit_internal;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace rlock;
  occupy_standard_descriptors();
  try {
    base::remember_arguments(argc, argv);
    auto parsed = cli::parse({argv + 1, argv + argc});
    if (const auto* finished = std::get_if<cli::Finished>(&parsed)) return finished->exit_status;
    const auto& options = std::get<Options>(parsed);
    if (options.verbose) base::set_log_level(base::LogLevel::debug);
    if (options.quiet) base::set_log_level(base::LogLevel::error);
    return dispatch(options);
  } catch (const std::exception& error) {
    base::log_error(error.what());
    return base::exit_internal;
  }
}
