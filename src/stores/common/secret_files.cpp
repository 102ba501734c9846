#include "stores/common/secret_files.hpp"

#include <algorithm>
#include <cerrno>

#include "base/log.hpp"
#include "base/read.hpp"

namespace rlock::stores {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr std::size_t max_secret = 4096;  // bytes

}  // namespace

Result<base::NamedFile> SecretFiles::open(const std::string& what, const std::string& path, std::string_view secret) {
  auto file = base::NamedFile::open(path, "the file");
  if (!file) return fail(ErrorCode::configuration, what + ": " + file.error().message);
  if (const auto why = file->change_by_others()) return fail(ErrorCode::configuration, what + ": " + *why);
  const auto why = file->reading_by_others(secret);
  if (why && std::ranges::find(advised_, *why) == advised_.end()) {
    base::log_advice(*why);
    advised_.push_back(*why);
  }
  return file;
}

Result<std::string> SecretFiles::read(const std::string& what, const std::string& path) {
  const auto file = RLOCK_TRY(open(what, path, "password"));
  errno = 0;
  auto line = base::read_line(file.fd(), max_secret);
  if (!line && errno != 0) return base::fail_errno(ErrorCode::configuration, what + ": the file cannot be read");
  if (line && line->ends_with('\r')) line->pop_back();
  if (!line || line->empty()) {
    return fail(ErrorCode::configuration, what + ": the file has no password on its first line");
  }
  return *line;
}

}  // namespace rlock::stores
