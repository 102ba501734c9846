#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/help.hpp"
#include "cli/settings.hpp"

namespace rlock::cli {

/// What was left of a command line behind its options.
struct Parsed {
  std::vector<std::string> words;
  std::optional<Help> help{};
  bool wants_version = false;
  bool has_mark = false;  ///< a -- stood before the words, or among those of parse_all
};

/// Reads options of these verbs from arguments into settings. CLI11 is told only of the options that the arguments
/// name: telling it of all takes longer than acquiring a lock (tests/bench).
///
/// Up to the first word: what follows it is not looked at, and comes back byte for byte.
base::Result<Parsed> parse_up_to_word(Settings& settings, unsigned verbs, std::string_view whose,
                                      std::span<const std::string> arguments);
/// All, with words anywhere among the options.
base::Result<Parsed> parse_all(Settings& settings, unsigned verbs, std::string_view whose,
                               std::span<const std::string> arguments);

/// Of the CLI11 inside: 2.1.2.
std::string_view cli11_version();

/// What flock takes a line for the shell with, and what to write here.
inline bool is_shell_line(std::string_view option) { return option == "-c" || option == "--command"; }
inline constexpr std::string_view instead_of_shell_line = "; write rlock run KEY -- sh -c 'COMMAND'";

/// NAME = VALUE, or NAME alone, of a file.
struct Item {
  std::string name;
  std::vector<std::string> inputs;
};
/// As CLI11 reads a line of TOML; nothing where there is not one item. It stands here because one file alone includes
/// CLI11: its constants are set up at each start, once for each file that does.
base::Result<std::optional<Item>> parse_item(const std::string& line);

}  // namespace rlock::cli
