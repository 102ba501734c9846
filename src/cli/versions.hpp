#pragma once

#include <string>

namespace rlock::cli {

/// What --version prints: a line with rlock's own, and one with those of the libraries inside, which a list of holes in
/// libraries can be held against.
std::string versions();

}  // namespace rlock::cli
