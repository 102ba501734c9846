#pragma once

#include <string>

#include "cli/option_table.hpp"

namespace rlock::cli {

/// What `rlock --help` and `rlock VERB --help` print, at most 80 columns wide.
std::string overview();
std::string help_of(const VerbRow& verb);

/// text in lines of at most `width` columns, each behind `indent` blanks but the first.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

}  // namespace rlock::cli
