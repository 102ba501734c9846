#pragma once

#include <string>
#include <vector>

#include "show/view.hpp"

namespace rlock::show {

/// The locks as metrics in Prometheus' text format, for node_exporter's textfile collector; a key with bytes that do
/// not print stands as printable() shows it.
std::string metrics(const std::vector<ListedLock>& sights);

/// The same where the server could not be asked: rlock_up is 0, and nothing else is known.
std::string metrics_of_outage();

}  // namespace rlock::show
