#include "commands/common.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/duration.hpp"
#include "base/exit_status.hpp"
#include "base/fd.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace rlock::commands {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr std::size_t longest_key = 1024;     // bytes
constexpr std::size_t longest_token = 512;    // bytes
constexpr std::size_t longest_secret = 4096;  // bytes

// The first line of a descriptor, without its newline; nullopt when it cannot be read or is longer than most.
std::optional<std::string> first_line(int fd, std::size_t most) {
  std::string line;
  char c = 0;
  while (line.size() <= most) {
    const auto n = ::read(fd, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0 || c == '\n') return line;
    line += c;
  }
  return std::nullopt;
}

Result<std::string> read_password_file(const std::string& path) {
  const base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return base::fail_errno(ErrorCode::configuration, "--password-file: cannot open " + path);
  auto line = first_line(fd.get(), longest_secret);
  if (line && line->ends_with('\r')) line->pop_back();
  if (!line || line->empty()) {
    return fail(ErrorCode::configuration, "--password-file: no password on the first line of " + path);
  }
  return *line;
}

}  // namespace

Result<void> check_key(const Options& options) {
  const auto& key = options.key;
  if (key.empty()) return fail(ErrorCode::usage, "KEY is empty; name the lock");
  if (key.size() > longest_key) {
    return fail(ErrorCode::usage, "KEY has " + std::to_string(key.size()) + " bytes; at most " +
                                      std::to_string(longest_key) + " make a key");
  }
  if (base::has_control(key)) return fail(ErrorCode::usage, "KEY has a control character in it; leave it out");
  if (lock::is_side_key(options.prefix + key)) {
    return fail(ErrorCode::usage,
                "KEY " + key + " would be the name of what rlock keeps beside another lock; choose another");
  }
  return {};
}

Result<redis::Address> server_address(const Options& options) {
  auto address = options.servers.empty() ? redis::Address{} : redis::Address::parse(options.servers.front());
  if (!address) return fail(address.error().code, "--server: the URL " + address.error().message);
  if (!address->password && !options.password_file.empty()) {
    auto password = read_password_file(options.password_file);
    if (!password) return std::unexpected(password.error());
    address->password = std::move(*password);
  }
  if (const char* secret = std::getenv("REDISCLI_AUTH");
      !address->password && !address->is_local && secret != nullptr && *secret != '\0') {
    address->password = secret;
  }
  // A user who has no password, or one that the server will ask for: not the default user in any case.
  if (!address->password && !address->user.empty()) address->password = "";
  return address;
}

Result<lock::Client> make_client(const Options& options) {
  if (auto checked = check_key(options); !checked) return std::unexpected(checked.error());
  auto address = server_address(options);
  if (!address) return std::unexpected(address.error());
  return lock::Client(redis::Session(std::move(*address), options.connect_timeout, redis::OnDemand::start),
                      options.prefix + options.key);
}

std::optional<base::Duration> patience(const Options& options) {
  return options.nonblock ? base::Duration(0) : options.wait;
}

Result<std::string> read_token(const Options& options) {
  std::string token = options.token;
  if (token == "-") {
    auto line = first_line(STDIN_FILENO, longest_token);
    if (!line) return fail(ErrorCode::usage, "TOKEN: cannot read it from standard input");
    token = std::move(*line);
  } else if (token.empty()) {
    if (const char* from_environment = std::getenv("RLOCK_TOKEN")) token = from_environment;
  }
  if (token.empty()) {
    return fail(ErrorCode::usage, "TOKEN is missing; give it, or - to read it from standard input, or set RLOCK_TOKEN");
  }
  if (token.size() > longest_token || base::has_control(token)) {
    return fail(ErrorCode::usage, "TOKEN is not one that a lock can have");
  }
  return token;
}

int report(const base::Error& error, const Options& options, const process::Signals* signals) {
  if (error.code == ErrorCode::interrupted) {
    return base::exit_signal_base + (signals != nullptr ? signals->first_ending().value_or(0) : 0);
  }
  std::string message = error.message;
  if (error.code == ErrorCode::unreachable && options.servers.empty()) {
    message += "; name your server with --server URL or RLOCK_SERVER, or use --server local for locks on this machine";
  }
  base::log_error(message);
  return base::exit_status_of(error.code);
}

int report_busy(const Options& options, const std::optional<lock::NotHeld>& met) {
  std::string message = "busy: " + options.key + " is held";
  if (met && met->holder) message += " by " + met->holder->who.summary();
  if (met && met->holder_is_foreign) message += " by another program than rlock";
  if (met && !met->holder_ttl) message += ", without an end: " + how_to_end(options.key);
  base::log(options.conflict_exit_code == 0 ? base::LogLevel::debug : base::LogLevel::note, message);
  return options.conflict_exit_code;
}

std::string how_to_end(const std::string& key) {
  return "it stays until its holder gives it back, or somebody says rlock release --force " + base::shell_quoted(key);
}

bool print(std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace rlock::commands
