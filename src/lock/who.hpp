#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lock/mode.hpp"

namespace rlock::lock {

/// Bytes of a label; more are cut.
inline constexpr std::size_t max_label = 256;

/// Who holds or waits, for status. Comes from other hosts: escape it before it reaches a terminal.
struct Who {
  std::string host;
  pid_t pid = 0;
  std::string user;
  std::string command;  ///< empty unless its user asked for it to be shown
  std::string label{};  ///< what its user wants others to read; empty: nothing

  /// This host and user; pid is whose life the lock belongs to. What is too long of a command or a label is cut.
  static Who describe(pid_t pid, std::string command, std::string_view label);

  /// "user@host pid 12", raw.
  std::string summary() const;

  /// "PID HOST USER COMMAND", and a label behind a byte that no command has there: readable in redis-cli, and decode()
  /// undoes it. An rlock that knows no labels takes it for the end of the command.
  std::string encode() const;
  static Who decode(std::string_view text);
};

/// A record of the info hash; see common.lua.
struct Record {
  std::int64_t since_us = 0;  ///< server microseconds
  std::uint64_t fence = 0;    ///< 0 for a waiter
  Mode mode;
  Who who;
  bool has_ended = false;  ///< of a holder: its command has, and --hold keeps the lock

  /// nullopt where there is none, or one of another version: an rlock all the same, of which no more can be told.
  static std::optional<Record> decode(std::string_view text);
};

}  // namespace rlock::lock
