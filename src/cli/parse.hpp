#pragma once

#include <span>
#include <variant>

#include "commands/options.hpp"

namespace rlock::cli {

/// Nothing is left to do: help or an error was printed.
struct Finished {
  int exit_status;
};

/// What a verb does, to be called with the options.
using Handler = int (*)(const commands::Options&);

/// Reads the command line (without the program's name), the environment and the configuration files, in this order of
/// precedence, into `options`, whose format is good when it fails too. Overwrites credentials in `arguments`, so that
/// they leave the process list. Says from then on what -q and -v want said.
std::variant<Handler, Finished> parse(std::span<char*> arguments, commands::Options& options);

}  // namespace rlock::cli
