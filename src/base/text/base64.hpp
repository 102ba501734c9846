#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rlock::base {

/// The standard alphabet, with padding.
std::string to_base64(std::string_view bytes);
/// nullopt: anything that to_base64() would not have written.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace rlock::base
