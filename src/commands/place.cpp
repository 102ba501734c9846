#include "commands/place.hpp"

#include <algorithm>

#include "base/text/text.hpp"
#include "stores/registry/registry.hpp"

namespace rlock::commands {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

// what: where the key was given.
Result<lock::Name> name_of(const Options& options, const std::string& key, const std::string& what) {
  if (key.empty()) return fail(ErrorCode::usage, what + " is empty; name the lock");
  if (key.size() > lock::max_key) {
    return fail(ErrorCode::usage, what + " has " + std::to_string(key.size()) + " bytes; the maximum is " +
                                      std::to_string(lock::max_key));
  }
  if (base::has_control(key)) return fail(ErrorCode::usage, what + " has a control character in it; leave it out");
  lock::Name name{key, options.prefix + key};
  if (stores::is_reserved(name.wire_key)) {
    return fail(ErrorCode::usage, what + " " + key + " is a name that rlock needs for its own data; choose another");
  }
  return name;
}

}  // namespace

Result<std::unique_ptr<stores::Store>> open_store(const Options& options) {
  return stores::open({.urls = options.servers,
                       .urls_source = options.servers_source,
                       .are_urls_from_file = options.server_is_from_file,
                       .password_file = options.password_file,
                       .password_file_source = options.password_file_source,
                       .compat = options.compat,
                       .mode = options.mode,
                       .grace = options.grace,
                       .replicas = options.replicas});
}

Result<lock::Name> lock_name(const Options& options) { return name_of(options, options.key, "KEY"); }

Result<std::vector<lock::Name>> all_lock_names(const Options& options) {
  std::vector<lock::Name> all;
  all.push_back(RLOCK_TRY(lock_name(options)));
  for (const auto& key : options.with) {
    auto name = RLOCK_TRY(name_of(options, key, "--with: KEY"));
    if (std::ranges::find(all, key, &lock::Name::key) != all.end()) {
      return fail(ErrorCode::usage, "--with: KEY " + key + " is given twice; name each key once");
    }
    all.push_back(std::move(name));
  }
  return all;
}

Result<Place> place_of(const Options& options) {
  auto name = RLOCK_TRY(lock_name(options));
  return Place{std::move(name), RLOCK_TRY(open_store(options))};
}

}  // namespace rlock::commands
