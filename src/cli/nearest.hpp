#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rlock::cli {

/// The name that a mistyped one may have meant, whatever its case: one with few wrong, missing, surplus or swapped
/// letters, or else the only one that it begins with three letters or more. Empty when there is none.
std::string_view nearest(std::string_view mistyped, std::span<const std::string_view> names);

/// "run, acquire and renew", with " and " before the last.
std::string listed(std::span<const std::string_view> names, std::string_view before_last);

}  // namespace rlock::cli
