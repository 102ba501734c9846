#pragma once

#include <string>
#include <vector>

#include "show/view.hpp"

namespace rlock::show {

/// The locks as metrics in Prometheus' text format, for node_exporter's textfile collector; a key with bytes that do
/// not print stands as printable() shows it. unseen: how many servers did not answer, though others did.
std::string metrics(const std::vector<ListedLock>& snapshots, std::size_t unseen);

/// The metrics where the server could not be asked: rlock_up is 0, and nothing else is known.
std::string metrics_of_outage();

}  // namespace rlock::show
