#pragma once

#include <span>
#include <string>

#include "commands/options.hpp"
#include "commands/reentry.hpp"

namespace rlock::commands {

/// Puts what an rlock inside the command needs, to meet the same lock on the same servers, into our own environment,
/// which the command inherits. No password: if one stands in the URL of a configuration file, the rlock inside reads
/// that file again. urls: of the servers, see stores::Store. held: KEY first.
void set_environment(const Options& options, const std::string& urls, std::span<const HeldKey> held);

}  // namespace rlock::commands
