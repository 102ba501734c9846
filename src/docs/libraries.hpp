#pragma once

#include <string>

namespace rlock::docs {

/// The section of the man page about the names and forms that other libraries use, in mdoc.
std::string locks_of_other_libraries();

}  // namespace rlock::docs
