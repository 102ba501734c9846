#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace rlock::process {

/// Makes the process that calls it, just forked, one that no caller notices: a session of its own, so that no signal to
/// rlock's group and no key of a terminal reaches it; every signal blocked; nothing open but /dev/null, as 0, 1 and 2,
/// and the descriptors in `left_open`. name: at most 15 bytes. title: its command line, as ps and pgrep -f show it.
void become_background(const char* name, const std::string& title, std::span<const int> left_open);

/// A process that stays behind when rlock ends.
struct BackgroundProcess {
  const char* name;
  std::string title;
  std::vector<int> left_open;                 ///< see become_background
  std::function<base::Result<void>()> begin;  ///< what rlock waits for
  std::function<void()> run;                  ///< the rest, until its end
};

/// Forks it and returns when it has begun. Fails with what `begin` failed with, or with internal; then nothing of it is
/// left. To be called while there are no other threads.
base::Result<void> start_in_background(const BackgroundProcess& process);

}  // namespace rlock::process
