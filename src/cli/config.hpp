#pragma once

#include <string>

#include "base/error.hpp"
#include "cli/settings.hpp"

namespace rlock::cli {

/// Sets what neither the command line nor the environment has set, from --config FILE or else from
/// $XDG_CONFIG_HOME/rlock.conf (~/.config/rlock.conf) and, below it, /etc/rlock.conf: CLI11's own format, long option
/// names without dashes, at the top for every verb or in a section [VERB]. At the top, options of other verbs are
/// ignored. Fails with configuration, and names the line, if an option is unknown, is not one that a file can set, is
/// not one of the section's verb, is set twice or together with one that it excludes, or has a value that the command
/// line would not accept; also if somebody else than root and this user can change the file. Advises about a
/// password that everybody can read.
base::Result<void> read_configuration(Settings& settings, const VerbRow& verb);

/// Reads the text of one file, with the same checks; `path` stands in messages.
base::Result<void> read_configuration(Settings& settings, const VerbRow& verb, const std::string& text,
                                      const std::string& path);

}  // namespace rlock::cli
