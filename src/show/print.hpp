#pragma once

#include <string_view>

namespace rlock::show {

/// Writes to standard output, all of it and now: false when that failed; errno says why.
bool print(std::string_view text);

/// print() for a reader who may have read enough and close the pipe (`rlock status | head`). Returns the exit status,
/// and says so when standard output cannot be written.
int print_for_reader(std::string_view text);

}  // namespace rlock::show
