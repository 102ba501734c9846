#pragma once

#include <string>
#include <string_view>

#include "net/tls.hpp"
#include "net/url.hpp"

namespace rlock::net {

/// How messages show what the ?query of a URL may say of TLS.
inline constexpr std::string_view tls_query_form = "cacert=FILE&cert=FILE&key=FILE";

/// Where the value of this name in a ?query belongs; nullptr: it is not of TLS.
std::string* field_of(TlsSettings& settings, std::string_view name);

/// A failure (usage): it has only one of a certificate and its key.
base::Result<void> check_pair(const TlsSettings& settings);

/// Puts them behind the query of a URL.
void add_to_query(std::string& query, const TlsSettings& settings);

/// The settings with absolute paths, for a program that runs in another directory.
TlsSettings with_absolute_paths(TlsSettings settings);

}  // namespace rlock::net
