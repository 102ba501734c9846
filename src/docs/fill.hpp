#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>

namespace rlock::docs {

/// What stands for each @name@ of a text.
using Parts = std::map<std::string, std::string, std::less<>>;

/// text with the parts in place of their names: of @name@ within a line the part alone, of a line that is @name@ and
/// nothing else the part with its own line ends. A name is lower-case letters and _. Fails with the name of a part that
/// is not there.
std::expected<std::string, std::string> fill(std::string_view text, const Parts& parts);

}  // namespace rlock::docs
