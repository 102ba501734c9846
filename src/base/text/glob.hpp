#pragma once

#include <string_view>

namespace rlock::base {

/// Whether text is what a pattern of the shell stands for: `*`, `?`, `[a-z]`, `[!a]`, `[[:digit:]]`, and a backslash in
/// front of what is meant as it stands. A character is one of UTF-8, whatever the locale, or a byte that belongs to
/// none.
///
/// Not fnmatch(3) alone: in UTF-8 that of glibc 2.36 tries what does not match once more, a byte at a time.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace rlock::base
