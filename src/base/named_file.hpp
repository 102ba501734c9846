#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/fd.hpp"

namespace rlock::base {

/// A file that a user named for rlock to read: options, a password or the key of a certificate. One rule for all: what
/// others own or can change is refused, and of a secret that others can read there is a note. The mode of a file counts
/// for nothing where it lies below a directory that only its owner can enter.
class NamedFile {
 public:
  /// Opens a regular file, a device, or a pipe as the shell makes for <(COMMAND). Waits for nobody: a named pipe may
  /// never have a writer, and is refused, as a directory is. Fails with configuration; the message begins with
  /// `called`, and does not repeat path, for which somebody may have written the password itself.
  static Result<NamedFile> open(const std::string& path, std::string called);

  int fd() const { return fd_.get(); }
  /// Not a device or a pipe.
  bool is_regular() const { return is_regular_; }

  /// All of it. Fails if it is longer than max bytes: what was named may be a device that never ends.
  Result<std::string> read(std::size_t max) const;

  /// Why someone besides root and this user can change the file, and how to mend that, as a message that begins with
  /// the path. nullopt: nobody can, or it is not a regular file. That others can write a directory above it does not
  /// count: they can put another file in its place, but not one that belongs to root or to this user.
  std::optional<std::string> change_by_others() const;

  /// That everybody can read the secret in it, and how to mend that, where this user may mend it. The group was chosen
  /// by somebody: root:adm 0640 is fine.
  std::optional<std::string> reading_by_others(std::string_view secret) const;

 private:
  bool is_out_of_reach() const;

  NamedFile(Fd fd, std::string path, std::string called)
      : fd_(std::move(fd)), path_(std::move(path)), called_(std::move(called)) {}

  Fd fd_;
  std::string path_;
  std::string called_;
  bool is_regular_ = false;
  uid_t owner_ = 0;
  mode_t mode_ = 0;
};

/// The path for a program that runs in another directory.
std::string absolute_path(const std::string& path);

}  // namespace rlock::base
