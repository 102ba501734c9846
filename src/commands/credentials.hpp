#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_file.hpp"
#include "commands/options.hpp"
#include "redis/address.hpp"

namespace rlock::commands {

/// Whether --password-file or REDISCLI_AUTH has a password for servers whose URL has none.
bool has_password_beside_url(const Options& options);

/// The secrets of the servers of one call. Each file is looked at by the rule of base::NamedFile, and told of once.
class Credentials {
 public:
  explicit Credentials(const Options& options) : options_(options) {}

  /// Gives the address its passwords, and looks at the key of its certificate. A lone word before its @ becomes the
  /// user where the password comes from elsewhere. Fails with configuration, and names the option and no file.
  base::Result<void> add_to(redis::Address& address);

 private:
  base::Result<base::NamedFile> open(const std::string& what, const std::string& path, std::string_view secret);
  base::Result<std::string> read(const std::string& what, const std::string& path);

  const Options& options_;
  std::optional<std::string> of_file_;  ///< what stands in --password-file, which is read once: it may be a pipe
  std::vector<std::string> advised_;
};

}  // namespace rlock::commands
