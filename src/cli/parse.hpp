#pragma once

#include <span>
#include <variant>

#include "commands/options.hpp"

namespace rlock::cli {

/// Nothing is left to do: help was printed, or an error was said.
struct Finished {
  int exit_status;
};

/// Reads the command line (without the program's name), the environment and the configuration files, in
/// this order of precedence. Overwrites credentials in `arguments`, so that they leave the process list.
std::variant<commands::Options, Finished> parse(std::span<char*> arguments);

}  // namespace rlock::cli
