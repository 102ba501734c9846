#pragma once

#include <cstddef>

namespace rlock::base {

struct ScreenSize {
  std::size_t columns;
  std::size_t rows;
};

/// Bytes that a terminal which is ready for output takes without waiting. One that nobody reads any more (a connection
/// that hangs) may not take a whole line.
inline constexpr std::size_t max_terminal_write = 256;

/// Whether fd is a terminal that understands escape sequences, so that lines can be redrawn: TERM is set and not
/// "dumb".
bool is_screen(int fd);

/// is_screen(), and NO_COLOR is not set (no-color.org).
bool wants_colour(int fd);

/// Of the terminal fd, as it is now. A terminal that does not know its size (a serial line) has COLUMNS and LINES of
/// the environment, and without these 80 by 24.
ScreenSize screen_size(int fd);

}  // namespace rlock::base
