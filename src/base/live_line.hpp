#pragma once

#include <string_view>

namespace rlock::base {

/// One line on the terminal that standard error is, drawn over and over: cut to its width as it is now. Nothing is
/// drawn by a job in the background, nor on a terminal that takes nothing now (Ctrl-S). The cursor stays at its
/// beginning, so that it can be erased in full, also where the terminal has become narrower meanwhile and has broken it
/// in two. Main thread only.
void draw_live_line(std::string_view text);

/// Erases it, if there is one, in the end.
void clear_live_line();

/// What erases it, if there is one, to be written in front of anything else that is said there. From any thread.
std::string_view take_live_line();

}  // namespace rlock::base
