#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/fd.hpp"

namespace rlock::base {

/// A file that a user named for rlock to read: options or a password.
class NamedFile {
 public:
  /// Opens a regular file, a device, or a pipe as the shell makes for <(COMMAND). Waits for nobody: a named pipe may
  /// never have a writer, and is refused, as a directory is. Fails with configuration; the message begins with path.
  static Result<NamedFile> open(const std::string& path);

  int fd() const { return fd_.get(); }

  /// All of it. Fails if it is longer than max bytes: what was named may be a device without an end.
  Result<std::string> read(std::size_t max) const;

  /// Why someone besides root, this user and `owner` can change the file, and how to mend that: behind the path.
  /// nullopt: nobody can, or it is not a regular file. The directories above it do not count: whoever can write them
  /// can put another file in its place, but not one that belongs to root or to this user.
  std::optional<std::string> change_by_others(uid_t owner) const;

  /// How to keep everybody from reading the file, where everybody can and this user may mend it. The group was chosen
  /// by somebody: root:adm 0640 is fine.
  std::optional<std::string> mend_for_reading() const;

 private:
  NamedFile(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Fd fd_;
  std::string path_;
  bool is_regular_ = false;
  uid_t owner_ = 0;
  mode_t mode_ = 0;
};

}  // namespace rlock::base
