#include "commands/environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/text/duration.hpp"
#include "stores/registry/registry.hpp"

namespace rlock::commands {
namespace {

// The command may run elsewhere.
std::string absolute(const std::string& path) {
  std::error_code error;
  const auto result = std::filesystem::absolute(path, error);
  return error ? path : result.string();
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

void set_environment(const Options& options, const std::string& urls, std::span<const HeldKey> held) {
  set("RLOCK_KEY", held.front().key);
  set("RLOCK_TOKEN", held.front().token);
  set("RLOCK_FENCE", std::to_string(held.front().fence));
  set_lists(held);
  set("RLOCK_TTL", base::format_duration(options.ttl));
  set("RLOCK_PREFIX", options.prefix);
  if (options.compat == stores::Compat::redisson) {
    set("RLOCK_COMPAT", "redisson");
  } else {
    ::unsetenv("RLOCK_COMPAT");
  }
  if (!options.password_file.empty()) set("RLOCK_PASSWORD_FILE", absolute(options.password_file));
  if (!options.config_file.empty()) set("RLOCK_CONFIG", absolute(options.config_file));
  if (options.server_is_from_file && std::ranges::any_of(options.servers, stores::may_hold_password)) {
    ::unsetenv("RLOCK_SERVER");
  } else {
    set("RLOCK_SERVER", urls);
  }
}

}  // namespace rlock::commands
