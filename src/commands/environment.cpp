#include "commands/environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/duration.hpp"

namespace rlock::commands {
namespace {

// The command may run elsewhere.
std::string absolute(const std::string& path) {
  std::error_code error;
  const auto result = std::filesystem::absolute(path, error);
  return error ? path : result.string();
}

// With the files that its URL names found from everywhere.
redis::Address movable(redis::Address server) {
  if (server.tls) {
    for (auto* file : {&server.tls->cacert, &server.tls->cert, &server.tls->key}) {
      if (!file->empty()) *file = absolute(*file);
    }
  }
  if (!server.sentinel_password_file.empty()) server.sentinel_password_file = absolute(server.sentinel_password_file);
  return server;
}

bool password_is_in_file(const Options& options) {
  if (!options.server_is_from_file) return false;
  return std::ranges::any_of(options.servers, [](const std::string& url) {
    const auto address = redis::Address::parse(url);
    return address && address->password;
  });
}

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

}  // namespace

void set_environment(const Options& options, std::span<const redis::Address> servers, const lock::Lease& lease) {
  set("RLOCK_KEY", options.key);
  set("RLOCK_TOKEN", lease.token);
  set("RLOCK_FENCE", std::to_string(lease.fence));
  set("RLOCK_TTL", base::format_duration(options.ttl));
  set("RLOCK_PREFIX", options.prefix);
  if (options.compat == Compat::redisson) {
    set("RLOCK_COMPAT", "redisson");
  } else {
    ::unsetenv("RLOCK_COMPAT");
  }
  if (!options.password_file.empty()) set("RLOCK_PASSWORD_FILE", absolute(options.password_file));
  if (!options.config_file.empty()) set("RLOCK_CONFIG", absolute(options.config_file));
  if (password_is_in_file(options)) {
    ::unsetenv("RLOCK_SERVER");
    return;
  }
  std::string urls;
  for (auto server : servers) urls += (urls.empty() ? "" : ",") + movable(std::move(server)).display();
  set("RLOCK_SERVER", urls);
}

}  // namespace rlock::commands
