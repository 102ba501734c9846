#pragma once

#include <string>

#include "docs/fill.hpp"

namespace rlock::docs {

/// What the tables of cli/rows and base/exit_status say, for the texts in src/docs/*.in: the parts of the manual.
Parts manual_parts();

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace rlock::docs
