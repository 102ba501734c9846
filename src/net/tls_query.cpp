#include "net/tls_query.hpp"

#include "base/named_file.hpp"

namespace rlock::net {

std::string* field_of(TlsSettings& settings, std::string_view name) {
  if (name == "cacert") return &settings.cacert;
  if (name == "cert") return &settings.cert;
  if (name == "key") return &settings.key;
  return nullptr;
}

base::Result<void> check_pair(const TlsSettings& settings) {
  if (settings.cert.empty() == settings.key.empty()) return {};
  return base::fail(base::ErrorCode::usage, "needs both ?cert= and ?key=");
}

void add_to_query(std::string& query, const TlsSettings& settings) {
  add_to_query(query, "cacert", settings.cacert);
  add_to_query(query, "cert", settings.cert);
  add_to_query(query, "key", settings.key);
}

TlsSettings with_absolute_paths(TlsSettings settings) {
  for (auto* file : {&settings.cacert, &settings.cert, &settings.key}) {
    if (!file->empty()) *file = base::absolute_path(*file);
  }
  return settings;
}

}  // namespace rlock::net
