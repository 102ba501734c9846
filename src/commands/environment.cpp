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

// The same server, with the files that its URL names as absolute paths.
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

// A line for each key, where there are several. Those of a run around this one are not ours.
void set_lists(std::span<const HeldKey> held) {
  if (held.size() == 1) {
    if (std::getenv("RLOCK_KEYS") == nullptr) return;  // three walks over the environment take longer than this one
    for (const char* name : {"RLOCK_KEYS", "RLOCK_TOKENS", "RLOCK_FENCES"}) ::unsetenv(name);
    return;
  }
  std::string keys;
  std::string tokens;
  std::string fences;
  for (const auto& each : held) {
    const char* end = &each == &held.front() ? "" : "\n";
    keys += end + each.key;
    tokens += end + each.token;
    fences += end + std::to_string(each.fence);
  }
  set("RLOCK_KEYS", keys);
  set("RLOCK_TOKENS", tokens);
  set("RLOCK_FENCES", fences);
}

}  // namespace

void set_environment(const Options& options, std::span<const redis::Address> servers, std::span<const HeldKey> held) {
  set("RLOCK_KEY", held.front().key);
  set("RLOCK_TOKEN", held.front().token);
  set("RLOCK_FENCE", std::to_string(held.front().fence));
  set_lists(held);
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
