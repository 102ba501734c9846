#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rlock::docs {

/// Text as mdoc takes it: no escapes, no macro at the start of a line.
std::string plain(std::string_view text);

/// Text as a line of a paragraph: no URL is hyphenated.
std::string prose(std::string_view text);

/// Text as arguments of a macro: a word that could be a macro's name, or closes a sentence, is only a word
/// there.
std::string argument(std::string_view text);

/// Lines for .Bd -literal. One that is wider than that many columns goes on in lines that begin with two blanks.
std::string verbatim(std::string_view text, std::size_t width);

}  // namespace rlock::docs
