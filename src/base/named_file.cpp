#include "base/named_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.hpp"

namespace rlock::base {
namespace {

// One that can be opened without a writer.
bool is_unnamed_pipe(int fd) {
  struct statfs system{};
  return ::fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

// A name that chmod does not take for an option.
std::string pasted(const std::string& path) { return shell_word(path.starts_with('-') ? "./" + path : path); }

}  // namespace

Result<NamedFile> NamedFile::open(const std::string& path) {
  NamedFile file(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)), path);
  struct stat st{};
  if (!file.fd_ || ::fstat(file.fd(), &st) != 0) return fail_errno(ErrorCode::configuration, path + " cannot be read");
  file.is_regular_ = S_ISREG(st.st_mode);
  file.owner_ = st.st_uid;
  file.mode_ = st.st_mode;
  if (S_ISDIR(st.st_mode)) return fail(ErrorCode::configuration, path + " is a directory; name a file");
  if (S_ISFIFO(st.st_mode) && !is_unnamed_pipe(file.fd())) {
    return fail(ErrorCode::configuration, path + " is a named pipe; name a file");
  }
  // An open file of our own, also where it is that of a descriptor (/dev/fd/63).
  if (!file.is_regular_) (void)::fcntl(file.fd(), F_SETFL, O_RDONLY);
  return file;
}

Result<std::string> NamedFile::read(std::size_t max) const {
  std::string text;
  while (text.size() <= max) {
    char buffer[4096];
    const auto n = ::read(fd(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(ErrorCode::configuration, path_ + " cannot be read");
    if (n == 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return fail(ErrorCode::configuration, path_ + " is longer than " + std::to_string(max / 1024) + " KiB");
}

std::optional<std::string> NamedFile::change_by_others(uid_t owner) const {
  if (!is_regular_) return std::nullopt;
  if (owner_ != 0 && owner_ != ::geteuid() && owner_ != owner) {
    return "belongs to the user " + std::to_string(owner_) + ", neither to root nor to the user of this run, " +
           std::to_string(::geteuid()) + "; chown it, or name another file";
  }
  if ((mode_ & S_IWOTH) != 0) return "can be written by everybody; chmod go-w " + pasted(path_);
  if ((mode_ & S_IWGRP) != 0) return "can be written by its group; chmod g-w " + pasted(path_);
  return std::nullopt;
}

std::optional<std::string> NamedFile::mend_for_reading() const {
  const auto user = ::geteuid();
  if (!is_regular_ || (mode_ & S_IROTH) == 0 || (user != 0 && user != owner_)) return std::nullopt;
  return "chmod o-r " + pasted(path_);
}

}  // namespace rlock::base
