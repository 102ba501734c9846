#pragma once

#include <string_view>

namespace rlock::base {

enum class LiveLine {
  drawn,
  not_now,  ///< the terminal takes nothing (Ctrl-S)
  not_ours  ///< we are in the background, or another process draws its line there
};

/// One line on the terminal that standard error is, drawn over and over: cut to its width as it is now. A terminal has
/// one at a time, and whoever drew first goes on. The cursor stays at its beginning, so that it can be erased in full,
/// also where the terminal has become narrower meanwhile and has broken it in two. Main thread only.
LiveLine draw_live_line(std::string_view text);

/// Erases the line that was drawn last, if there is one. From here on others may draw theirs.
void clear_live_line();

/// What erases it, if there is one, to be written in front of anything else that is said there. From any thread.
std::string_view take_live_line();

}  // namespace rlock::base
