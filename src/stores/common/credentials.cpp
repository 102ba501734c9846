#include "stores/common/credentials.hpp"

#include "base/log.hpp"

namespace rlock::stores {

using base::Result;

Result<std::optional<Secret>> Credentials::password(const std::optional<std::string>& of_url) {
  if (of_url) return Secret{*of_url, {.name = "the URL, " + settings_.urls_source, .read_again = {}}};
  if (settings_.password_file.empty()) return std::nullopt;
  if (!of_file_) of_file_ = RLOCK_TRY(files_.read(settings_.password_file_source, settings_.password_file));
  return of_file_;
}

Result<void> Credentials::check_key(const std::optional<net::TlsSettings>& tls) {
  if (tls && !tls->key.empty()) (void)RLOCK_TRY(files_.open("--server: ?key=", tls->key, "key"));
  return {};
}

void advise_encryption(const std::string& host, const std::string& tls_scheme) {
  if (host.empty()) return;
  base::log_advice("the password is sent unencrypted to " + host + "; " + tls_scheme + ":// encrypts it");
}

}  // namespace rlock::stores
