#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "commands/options.hpp"

namespace rlock::cli {

/// A verb as people type it: the one source of its name and help.
struct VerbRow {
  commands::Verb verb;
  std::string_view name;
  std::string_view usage;
  std::string_view help;
};

inline constexpr std::array verb_table{
    VerbRow{commands::Verb::run, "run", "run [OPTIONS] KEY [--] COMMAND [ARG...]", "Hold KEY while COMMAND runs"},
    VerbRow{commands::Verb::acquire, "acquire", "acquire [OPTIONS] KEY", "Take KEY, print its token"},
    VerbRow{commands::Verb::renew, "renew", "renew [OPTIONS] KEY [TOKEN]", "Extend the lease"},
    VerbRow{commands::Verb::release, "release", "release [OPTIONS] KEY [TOKEN]", "Give KEY back"},
    VerbRow{commands::Verb::status, "status", "status [OPTIONS] [KEY]", "Who holds and who waits"},
};

/// The options of every verb, bound to `options`. Names, environment, defaults and help of all options
/// stand here and in add_verb alone.
void add_common(CLI::App& app, commands::Options& options);

/// The options and positionals of one verb. COMMAND is none of them: it never reaches CLI11.
void add_verb(CLI::App& app, commands::Verb verb, commands::Options& options);

}  // namespace rlock::cli
