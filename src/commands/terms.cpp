#include "commands/terms.hpp"

#include <unistd.h>

#include <cstdlib>

#include "base/read.hpp"
#include "base/text/text.hpp"
#include "process/proc.hpp"

namespace rlock::commands {

using namespace std::chrono_literals;
using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr std::size_t max_token = 512;  // bytes

}  // namespace

std::optional<base::Duration> wait_of(const Options& options) {
  return options.nonblock ? base::Duration(0) : options.wait;
}

lock::Patience patience(const Options& options) {
  const bool is_set = !options.connect_timeout_source.empty();
  return lock::Patience::of(wait_of(options), is_set ? options.connect_timeout : base::Duration(0));
}

Result<lock::LeaseTerms> lease_terms(const Options& options, lock::Renewing renewing) {
  // Time to look twice. A longer lease has a second to kill in, and need not be measured for.
  const auto min_kill_time = options.ttl < 10s ? 2 * process::time_of_a_look() : std::chrono::nanoseconds::zero();
  return lock::LeaseTerms::make(options.ttl, options.kill_after, renewing, min_kill_time);
}

Result<std::string> read_token(const Options& options) {
  std::string token = options.token;
  if (token == "-") {
    auto line = base::read_line(STDIN_FILENO, max_token);
    if (!line)
      return fail(ErrorCode::usage, "TOKEN: cannot read it from standard input; it is one line of at most 512 bytes");
    token = std::move(*line);
  } else if (token.empty()) {
    if (const char* from_environment = std::getenv("RLOCK_TOKEN")) token = from_environment;
  }
  if (token.empty()) {
    return fail(ErrorCode::usage, "TOKEN is missing; give it, or - to read it from standard input, or set RLOCK_TOKEN");
  }
  if (token.size() > max_token || base::has_control(token)) {
    return fail(ErrorCode::usage, "TOKEN is not one that a lock can have; give what acquire printed");
  }
  return token;
}

}  // namespace rlock::commands
