#pragma once

#include "commands/options.hpp"

namespace rlock::commands {

/// Each does what its verb says, tells its errors through the log, and returns the exit status.
int run(const Options& options);
int acquire(const Options& options);
int renew(const Options& options);
int release(const Options& options);
int status(const Options& options);

}  // namespace rlock::commands
