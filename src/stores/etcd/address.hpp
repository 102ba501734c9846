#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "net/endpoint.hpp"
#include "net/tls.hpp"
#include "stores/common/secret_files.hpp"

namespace rlock::etcd {

constexpr std::uint16_t default_port = 2379;

/// The members of a cluster, the credentials for it, and where in it rlock keeps its locks.
struct Address {
  std::vector<net::Endpoint> endpoints;  ///< of the members; empty: a Unix socket
  std::string socket;                    ///< its path
  std::optional<net::TlsSettings> tls;
  std::string user;            ///< empty: none
  bool has_lone_word = false;  ///< what was taken for the user may be a password: it had no colon
  std::optional<std::string> password;
  stores::SecretSource password_source;
  std::string prefix = "/rlock";    ///< of all keys; begins with a slash, and does not end with one
  bool host_may_be_secret = false;  ///< a lone word, such as a password that stands in place of the URL

  /// Reads a URL: one of those of rlock help. Percent escapes are undone. An empty password is none. A failure (usage)
  /// names what is wrong with the URL, but not its user or password.
  static base::Result<Address> parse(std::string_view url);

  /// The URL without its password, for parse() again.
  std::string display() const;
  /// For messages: without user, ?query, and what may be a password in the wrong place.
  std::string name() const;
};

}  // namespace rlock::etcd
