#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <set>
#include <span>
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

/// What CLI11 knows of rlock's options, bound to an Options. It is told of those alone that the words or the
/// environment name: telling it of all takes longer than taking a lock (tests/bench). Who asks for help sees all.
class Tree {
 public:
  /// words: the arguments as they came. Those of COMMAND may be among them; they name too much, which does no harm.
  Tree(commands::Options& options, std::span<const std::string> words);

  CLI::App& app() { return app_; }
  commands::Options& options() { return options_; }

  /// The options of one verb, and its positionals. COMMAND is none of them: it never reaches CLI11.
  void add_verb(commands::Verb verb);

  /// The option of the verb with this long name ("--ttl"), added now unless it was before. nullptr: it has none.
  CLI::Option* find_option(std::string_view long_name);

  /// Whether some verb has an option of this long name.
  static bool is_option(std::string_view long_name);

 private:
  struct Row;
  static const Row rows[];

  bool is_named(const Row& row) const;
  CLI::Option* add(const Row& row);

  commands::Options& options_;
  CLI::App app_;
  std::set<std::string, std::less<>> named_;  ///< as CLI11 knows them: "--ttl", "-t"
  commands::Verb verb_{};
};

}  // namespace rlock::cli
