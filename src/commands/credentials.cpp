#include "commands/credentials.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/log.hpp"
#include "base/read.hpp"

namespace rlock::commands {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr std::size_t max_secret = 4096;  // bytes

std::string_view of_environment() {
  const char* secret = std::getenv("REDISCLI_AUTH");
  return secret != nullptr ? secret : "";
}

}  // namespace

bool has_password_beside_url(const Options& options) {
  return !options.password_file.empty() || !of_environment().empty();
}

// what: the option that names the file.
Result<base::NamedFile> Credentials::open(const std::string& what, const std::string& path, std::string_view secret) {
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

Result<std::string> Credentials::read(const std::string& what, const std::string& path) {
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

Result<void> Credentials::add_to(redis::Address& address) {
  if (!address.is_local && has_password_beside_url(options_)) address.take_lone_word_for_user();
  if (!address.password && !options_.password_file.empty()) {
    if (!of_file_) of_file_ = RLOCK_TRY(read(options_.password_file_source, options_.password_file));
    address.password = of_file_;
  }
  if (!address.password && !address.is_local && !of_environment().empty()) address.password = of_environment();
  // A user without a password is still sent to the server, which must not take us for the default user.
  if (!address.password && !address.user.empty()) address.password = "";
  if (!address.sentinel_password_file.empty()) {
    address.sentinel_password = RLOCK_TRY(read("--server: ?sentinel_password_file", address.sentinel_password_file));
  }
  if (address.tls && !address.tls->key.empty()) (void)RLOCK_TRY(open("--server: ?key=", address.tls->key, "key"));
  return {};
}

}  // namespace rlock::commands
