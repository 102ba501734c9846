#pragma once

#include <string>
#include <string_view>

namespace rlock::docs {

/// Text as mdoc takes it: no escapes, no macro at the start of a line.
std::string plain(std::string_view text);

/// The same as arguments of a macro: a word that could be a macro's name, or closes a sentence, is none there.
std::string argument(std::string_view text);

}  // namespace rlock::docs
