#pragma once

#include "docs/fill.hpp"

namespace rlock::docs {

/// The parts of the manual: what the tables of cli/rows, base/exit_status and the arithmetic of lock/lease say.
Parts manual_parts();

/// The parts of the completions, for each shell.
Parts bash_parts();
Parts zsh_parts();
Parts fish_parts();

}  // namespace rlock::docs
