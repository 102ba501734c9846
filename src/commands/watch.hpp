#pragma once

#include "commands/options.hpp"
#include "show/view.hpp"

namespace rlock::commands {

/// Shows the view on the terminal of standard output, drawn anew every second, or less often where a look at all locks
/// takes long. An outage is shown, and ends when the server is back. Returns the exit status: 0 after `q` or Ctrl-C,
/// 128 + n after another signal n, and that of the error where the very first look fails.
int watch(show::View& view, lock::Backend& backend, const Options& options);

}  // namespace rlock::commands
