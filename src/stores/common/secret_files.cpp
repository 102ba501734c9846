#include "stores/common/secret_files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "base/read.hpp"

namespace rlock::stores {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr std::size_t max_secret = 4096;  // bytes

Result<std::string> first_line_of(const base::NamedFile& file) {
  errno = 0;
  auto line = base::read_line(file.fd(), max_secret);
  if (!line && errno != 0) return base::fail_errno(ErrorCode::configuration, "the file cannot be read");
  if (line && line->ends_with('\r')) line->pop_back();
  if (!line || line->empty()) return fail(ErrorCode::configuration, "the file has no password on its first line");
  return *line;
}

// Reads a password file again, by the same rule, wherever the working directory is by then. Not by the name of a
// descriptor, which may be another file's by then.
std::function<std::optional<std::string>()> reader_of(const std::string& path) {
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error).string();
  if (error || whole.starts_with("/dev/") || whole.starts_with("/proc/")) return nullptr;
  return [whole]() -> std::optional<std::string> {
    const auto file = base::NamedFile::open(whole, "the file");
    if (!file || !file->is_regular() || file->change_by_others()) return std::nullopt;
    auto line = first_line_of(*file);
    if (!line) return std::nullopt;
    return std::move(*line);
  };
}

}  // namespace

bool SecretSource::has_changed(std::optional<std::string>& password) const {
  auto now = read_again ? read_again() : std::nullopt;
  if (!now || now == password) return false;
  password = std::move(now);
  return true;
}

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

Result<Secret> SecretFiles::read(const std::string& what, const std::string& path) {
  const auto file = RLOCK_TRY(open(what, path, "password"));
  auto line = first_line_of(file);
  if (!line) return fail(line.error().code, what + ": " + line.error().message);
  return Secret{std::move(*line), {"the file, " + what, file.is_regular() ? reader_of(path) : nullptr}};
}

}  // namespace rlock::stores
