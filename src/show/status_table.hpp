#pragma once

#include <span>
#include <string>
#include <vector>

#include "show/table.hpp"
#include "show/view.hpp"

namespace rlock::show {

/// A heading and a line for each lock: who holds it and for how long, who ran last.
std::vector<std::string> list_lines(std::span<const ListedLock> snapshots, const Layout& layout);

/// All that is known of one lock: its holders, its queue and its last run.
std::vector<std::string> detail_lines(const ListedLock& snapshot, const Layout& layout);

}  // namespace rlock::show
