#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace rlock::base {

/// The first line of what a descriptor has to read, without its newline; nothing behind it is consumed. nullopt when it
/// cannot be read, or is longer than max bytes.
std::optional<std::string> read_line(int fd, std::size_t max);

/// All that a descriptor has to read, up to its end. nullopt: errno says why.
std::optional<std::string> read_all(int fd);

}  // namespace rlock::base
