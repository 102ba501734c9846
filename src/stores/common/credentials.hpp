#pragma once

#include <optional>
#include <string>

#include "net/tls.hpp"
#include "stores/common/secret_files.hpp"
#include "stores/common/store.hpp"

namespace rlock::stores {

/// The secrets of the servers of one call. Failures are of configuration, as those of SecretFiles.
class Credentials {
 public:
  explicit Credentials(const Settings& settings) : settings_(settings) {}

  /// The password that stands in a URL, or in --password-file where there is none; nullopt: nowhere.
  base::Result<std::optional<Secret>> password(const std::optional<std::string>& of_url);
  /// That of a file that a URL names.
  base::Result<Secret> read(const std::string& what, const std::string& path) { return files_.read(what, path); }
  /// Looks at the key of a certificate, where there is one.
  base::Result<void> check_key(const std::optional<net::TlsSettings>& tls);

 private:
  const Settings& settings_;
  SecretFiles files_;
  std::optional<Secret> of_file_;  ///< what stands in --password-file, which is read once: it may be a pipe
};

/// Advises that a password travels to this host without encryption; to none where it is empty.
void advise_encryption(const std::string& host, const std::string& tls_scheme);

}  // namespace rlock::stores
