#pragma once

#include <string>

#include "docs/fill.hpp"

namespace rlock::docs {

/// The parts of the manual: what the tables of cli/rows, base/exit_status and the arithmetic of lock/lease say.
Parts manual_parts();

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace rlock::docs
