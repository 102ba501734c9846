#pragma once

#include <string_view>

#include "base/log.hpp"

namespace rlock::base {

/// Hands a message to whoever listens at /dev/log, to datagrams (journald, rsyslog) or to a stream (syslog-ng may), as
/// rlock of the facility user. Never blocks: what is not taken at once is dropped, as where nobody listens. From any
/// thread, and from a process forked off it.
///
/// syslog(3) is not that: glibc's and musl's wait for ever on a listener whose queue is full, and hold a mutex
/// meanwhile, which a fork takes along.
void send_to_syslog(LogLevel level, std::string_view message);

}  // namespace rlock::base
