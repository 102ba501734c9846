#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "redis/tls.hpp"

namespace rlock::redis {

enum class Transport { tcp, unix_socket };

/// Where a server is and the credentials for it. display() never shows the password.
struct Address {
  Transport transport = Transport::tcp;
  std::string host = "127.0.0.1";  ///< tcp
  std::uint16_t port = 6379;       ///< tcp
  std::optional<TlsSettings> tls;  ///< tcp
  std::string path;                ///< unix_socket
  std::string user;                ///< empty: the default user
  std::optional<std::string> password;
  int database = 0;
  bool is_local = false;  ///< the private server of this machine: nothing else counts

  /// Reads `redis://[[user:]password@]host[:port][/db]`, the same with `rediss://` and
  /// `[?cacert=FILE&cert=FILE&key=FILE]` for TLS, `unix:///path[?db=N]` and `local`; percent
  /// escapes are undone. An empty password is none. A failure names what is wrong with the URL, but not its user or
  /// password.
  static base::Result<Address> parse(std::string_view url);

  /// The URL without its password, for people, and for parse() again.
  std::string display() const;
  /// The same without the files of TLS: for messages.
  std::string name() const;
};

}  // namespace rlock::redis
