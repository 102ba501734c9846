#pragma once

#include <array>
#include <string>
#include <string_view>

namespace rlock::redis {

/// The names under which one lock stands on the server. A Cluster keeps them all in one slot: side keys carry the
/// lock's name as hash tag. A name that has a tag of its own ("a{b}c", tag b) is written bare behind a second colon:
/// inside another pair of braces its tag would be a different one. A name that has a '}' and no tag ("a}b") cannot be
/// one: the tag is a number of the same slot, and the name stands behind it.
struct Names {
  explicit Names(std::string_view wire_key);

  std::string lock;  ///< prefix and KEY

  std::string queue() const { return of('q'); }
  std::string info() const { return of('i'); }
  std::string fence() const { return of('f'); }
  std::string last() const { return of('l'); }    ///< the last run
  std::string window() const { return of('b'); }  ///< when the lock is left to other libraries
  std::string holders() const { return of('h'); }
  std::string tombstone(std::string_view token) const { return of('t', token); }
  /// All of these, as the scripts take them behind the lock.
  std::array<std::string, 7> side_keys(std::string_view token) const {
    return {queue(), info(), fence(), tombstone(token), last(), window(), holders()};
  }

  std::string channel(std::string_view token) const { return of('w', token); }
  std::string channel_of_all() const { return of('w'); }

 private:
  std::string of(char kind, std::string_view token = {}) const;

  std::string tag_;
};

/// Whether a name is, or may become, that of a side key of any lock. No lock can have such a name.
bool is_side_key(std::string_view name);

/// The lock that a side key (queue, info or last run) belongs to; empty when name is not a side key.
std::string lock_of_side_key(std::string_view name);

}  // namespace rlock::redis
