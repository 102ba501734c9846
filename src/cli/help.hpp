#pragma once

#include <string>

#include "cli/option_table.hpp"

namespace rlock::cli {

/// brief: what is needed most, on a screen of 24 lines.
enum class Help { brief, whole };

/// What `rlock -h` or `--help` and `rlock VERB -h` or `--help` print, at most 80 columns wide.
std::string overview(Help help);
std::string help_of(const VerbRow& verb, Help help);

/// text in lines of at most `width` columns, each behind `indent` blanks but the first.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

}  // namespace rlock::cli
