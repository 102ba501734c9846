#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rlock::base {

/// How many columns of a terminal printable(text) takes: wide characters two, combining ones none. Does not depend on
/// the locale of the process. Where the machine has no locale C.UTF-8, each character beyond ASCII counts as one.
std::size_t display_width(std::string_view text);

/// printable(text) in at most `columns` columns; where something had to go, the last column is an ellipsis.
std::string cut_to_width(std::string_view text, std::size_t columns);

}  // namespace rlock::base
