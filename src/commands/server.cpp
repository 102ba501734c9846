#include "commands/server.hpp"

#include <fcntl.h>

#include <cstdlib>

#include "base/fd.hpp"
#include "base/line.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "lock/single_server.hpp"
#include "redis/fixed_locator.hpp"

namespace rlock::commands {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr std::size_t max_key = 1024;     // bytes
constexpr std::size_t max_secret = 4096;  // bytes

Result<std::string> read_password_file(const std::string& path) {
  const base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd)
    return base::fail_errno(ErrorCode::configuration,
                            "--password-file: cannot open " + base::without_credentials(path));
  auto line = base::read_line(fd.get(), max_secret);
  if (line && line->ends_with('\r')) line->pop_back();
  if (!line || line->empty()) {
    return fail(ErrorCode::configuration,
                "--password-file: no password on the first line of " + base::without_credentials(path));
  }
  return *line;
}

Result<void> check_key(const std::string& key) {
  if (key.empty()) return fail(ErrorCode::usage, "KEY is empty; name the lock");
  if (key.size() > max_key) {
    return fail(ErrorCode::usage,
                "KEY has " + std::to_string(key.size()) + " bytes; the maximum is " + std::to_string(max_key));
  }
  if (base::has_control(key)) return fail(ErrorCode::usage, "KEY has a control character in it; leave it out");
  return {};
}

bool is_this_machine(const redis::Address& address) {
  return address.transport == redis::Transport::unix_socket || address.host == "localhost" || address.host == "::1" ||
         address.host.starts_with("127.");
}

std::unique_ptr<redis::Locator> locator_of(const redis::Address& address, local::OnDemand on_demand) {
  if (address.is_local) return std::make_unique<local::Locator>(on_demand);
  return std::make_unique<redis::FixedLocator>(address);
}

}  // namespace

Result<redis::Address> server_address(const Options& options) {
  auto address = options.servers.empty() ? redis::Address{} : redis::Address::parse(options.servers.front());
  if (!address) return fail(address.error().code, "--server: the URL " + address.error().message);
  if (!address->password && !options.password_file.empty()) {
    address->password = RLOCK_TRY(read_password_file(options.password_file));
  }
  if (const char* secret = std::getenv("REDISCLI_AUTH");
      !address->password && !address->is_local && secret != nullptr && *secret != '\0') {
    address->password = secret;
  }
  // A user without a password is still sent to the server, which must not take us for the default user.
  if (!address->password && !address->user.empty()) address->password = "";
  if (address->password && !address->password->empty() && !address->tls && !is_this_machine(*address)) {
    base::log_note("the password goes to " + address->host +
                   " as it is, for all in between to read; rediss:// encrypts");
  }
  return address;
}

Result<lock::Names> lock_names(const Options& options) {
  RLOCK_TRY(check_key(options.key));
  if (lock::is_side_key(options.prefix + options.key)) {
    return fail(ErrorCode::usage,
                "KEY " + options.key + " is a name that rlock needs for its own data; choose another");
  }
  return lock::Names(options.prefix + options.key);
}

std::unique_ptr<lock::Backend> open_backend(const redis::Address& address, base::Duration timeout, redis::Greet greet,
                                            local::OnDemand on_demand) {
  return std::make_unique<lock::SingleServer>(redis::Session(
      locator_of(address, on_demand), {address.user, address.password, address.database}, timeout, greet));
}

}  // namespace rlock::commands
