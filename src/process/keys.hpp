#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/terminal/scroll.hpp"

namespace rlock::process {

struct Quit {};
using Key = std::variant<base::ScrollKey, Quit>;

/// Takes the keys out of what a terminal has sent: arrows, j k, PageUp PageDown, blank b, Home End, g G, and q. Others
/// are dropped; the beginning of a sequence whose end has not come yet stays in bytes.
std::vector<Key> take_keys(std::string& bytes);

}  // namespace rlock::process
