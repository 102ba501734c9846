#pragma once

#include <optional>
#include <span>

#include "commands/options.hpp"

namespace rlock::cli {

/// Reads the command line (without the program's name), the environment and the configuration files, in
/// this order of precedence, into `options`. Overwrites credentials in `arguments`, so that they leave the process
/// list. Returns an exit status where nothing is left to do: help was printed, or an error was said. The format in
/// `options` is good then too.
std::optional<int> parse(std::span<char*> arguments, commands::Options& options);

}  // namespace rlock::cli
