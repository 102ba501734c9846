#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "net/endpoint.hpp"
#include "net/tls.hpp"

namespace rlock::zookeeper {

constexpr std::uint16_t default_port = 2181;
constexpr std::uint16_t default_tls_port = 2281;

/// The members of an ensemble, the credentials for it, and where in it rlock keeps its locks.
struct Address {
  std::vector<net::Endpoint> endpoints;
  std::optional<net::TlsSettings> tls;
  std::string user;  ///< empty: none
  std::optional<std::string> password;
  std::string root = "/rlock";  ///< the node below which all is; empty: there is none above
  bool has_default_root = true;
  bool has_lone_word = false;       ///< before the @: the user, there is no password without one
  bool host_may_be_secret = false;  ///< a lone word, such as a password that stands in place of the URL

  /// Reads a URL: one of those of rlock help. Percent escapes are undone. An empty password is none. A failure (usage)
  /// names what is wrong with the URL, but not its user or password.
  static base::Result<Address> parse(std::string_view url);

  /// The URL without its password, for parse() again.
  std::string display() const;
};

}  // namespace rlock::zookeeper
