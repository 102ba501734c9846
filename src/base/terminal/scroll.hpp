#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

namespace rlock::base {

enum class ScrollKey { up, down, page_up, page_down, top, bottom };

/// Which of many lines are on a screen that has not room for all.
class Scroll {
 public:
  struct Window {
    std::size_t first;
    std::size_t count;
  };

  /// Of `total` lines on `rows` rows. Where not all fit, one row is left for what tells of the others.
  Window window(std::size_t total, std::size_t rows) {
    page_ = total <= rows ? total : rows - std::min<std::size_t>(rows, 1);
    first_ = std::min(first_, total - page_);
    return {first_, page_};
  }

  void press(ScrollKey key) {
    // A line of the last page stays to be seen.
    const auto page = std::max<std::size_t>(page_, 2) - 1;
    constexpr auto end = std::numeric_limits<std::size_t>::max() / 2;
    switch (key) {
      case ScrollKey::up:
        first_ -= std::min<std::size_t>(first_, 1);
        break;
      case ScrollKey::down:
        first_ += 1;
        break;
      case ScrollKey::page_up:
        first_ -= std::min(first_, page);
        break;
      case ScrollKey::page_down:
        first_ += page;
        break;
      case ScrollKey::top:
        first_ = 0;
        break;
      case ScrollKey::bottom:
        first_ = end;
        break;
    }
  }

 private:
  std::size_t first_ = 0;
  std::size_t page_ = 0;  ///< lines of the last window
};

}  // namespace rlock::base
