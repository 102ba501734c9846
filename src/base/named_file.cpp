#include "base/named_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <filesystem>

#include "base/text/text.hpp"

namespace rlock::base {
namespace {

// One that can be opened without a writer.
bool is_unnamed_pipe(int fd) {
  struct statfs system{};
  return ::fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

// A name that chmod does not take for an option.
std::string pasted(const std::string& path) { return shell_word(path.starts_with('-') ? "./" + path : path); }

// Whoever owns /etc owns the machine: in a user namespace that is not the user 0.
bool is_trusted(uid_t owner) {
  if (owner == 0 || owner == ::geteuid()) return true;
  struct stat st{};
  return ::stat("/etc", &st) == 0 && st.st_uid == owner;
}

}  // namespace

Result<NamedFile> NamedFile::open(const std::string& path, std::string called) {
  NamedFile file(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)), path, std::move(called));
  struct stat st{};
  if (!file.fd_ || ::fstat(file.fd(), &st) != 0) {
    return fail_errno(ErrorCode::configuration, file.called_ + " cannot be read");
  }
  file.is_regular_ = S_ISREG(st.st_mode);
  file.owner_ = st.st_uid;
  file.mode_ = st.st_mode;
  if (S_ISDIR(st.st_mode)) return fail(ErrorCode::configuration, file.called_ + " is a directory; name a file");
  if (S_ISFIFO(st.st_mode) && !is_unnamed_pipe(file.fd())) {
    return fail(ErrorCode::configuration, file.called_ + " is a named pipe; name a file");
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
    if (n < 0) return fail_errno(ErrorCode::configuration, called_ + " cannot be read");
    if (n == 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return fail(ErrorCode::configuration, called_ + " is longer than " + std::to_string(max / 1024) + " KiB");
}

// Whether nobody but root and this user can get to the file: a directory above it lets only its owner in.
bool NamedFile::is_out_of_reach() const {
  std::string path(PATH_MAX, '\0');
  const auto size = ::readlink(("/proc/self/fd/" + std::to_string(fd())).c_str(), path.data(), path.size());
  path.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  for (auto slash = path.rfind('/'); slash != std::string::npos && slash > 0; slash = path.rfind('/')) {
    path.resize(slash);
    struct stat st{};
    if (::stat(path.c_str(), &st) == 0 && is_trusted(st.st_uid) && (st.st_mode & (S_IXGRP | S_IXOTH)) == 0) return true;
  }
  return false;
}

std::optional<std::string> NamedFile::change_by_others() const {
  if (!is_regular_) return std::nullopt;
  if (!is_trusted(owner_)) {
    return path_ + " belongs to the user " + std::to_string(owner_) +
           ", neither to root nor to the user of this run, " + std::to_string(::geteuid()) +
           "; chown it, or name another file";
  }
  if ((mode_ & (S_IWGRP | S_IWOTH)) == 0 || is_out_of_reach()) return std::nullopt;
  if ((mode_ & S_IWOTH) != 0) return path_ + " can be written by everybody; chmod go-w " + pasted(path_);
  return path_ + " can be written by its group; chmod g-w " + pasted(path_);
}

std::optional<std::string> NamedFile::reading_by_others(std::string_view secret) const {
  const auto user = ::geteuid();
  if (!is_regular_ || (mode_ & S_IROTH) == 0 || (user != 0 && user != owner_) || is_out_of_reach()) {
    return std::nullopt;
  }
  return "everybody can read the " + std::string(secret) + " in " + path_ + "; chmod o-r " + pasted(path_);
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto result = std::filesystem::absolute(path, error);
  return error ? path : result.string();
}

}  // namespace rlock::base
