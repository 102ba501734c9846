#pragma once

#include <string_view>

namespace rlock::base {

/// Remembers where the kernel looks for this process's command line. From main, once.
void remember_arguments(int argc, char** argv);

/// Writes a title there, as far as there is room, for ps and pgrep -f to show instead of the arguments. Nobody may need
/// argv any more.
void set_title(std::string_view title);

}  // namespace rlock::base
