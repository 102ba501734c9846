#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "redis/tls.hpp"

namespace rlock::redis {

enum class Transport { tcp, unix_socket };

/// What stands at an address.
enum class Kind {
  server,    ///< one Redis or Valkey, or the private server of this machine
  sentinel,  ///< Sentinels, which know where the master is
  cluster,   ///< some nodes of a Cluster
};

/// A TCP port of a host, which is a name or an address.
struct Endpoint {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;

  /// host:port, with brackets around an IPv6 address.
  std::string name() const;
  bool operator==(const Endpoint&) const = default;
};

/// Where a lock is kept and the credentials for it. display() never shows a password.
struct Address {
  Kind kind = Kind::server;
  Transport transport = Transport::tcp;
  std::vector<Endpoint> endpoints{Endpoint{}};  ///< tcp: one for a server; of Sentinels or a Cluster those to ask first
  std::optional<TlsSettings> tls;               ///< tcp: for all servers, Sentinels too
  std::string path;                             ///< unix_socket
  std::string master;                           ///< sentinel: the name that the Sentinels know it by
  std::string user;                             ///< empty: the default user
  std::optional<std::string> password;
  std::string sentinel_user;                     ///< the same for the Sentinels
  std::string sentinel_password_file;            ///< as the URL has it; whoever reads it sets the next
  std::optional<std::string> sentinel_password;  ///< nullopt: they get the servers', if they ask for one
  int database = 0;
  bool is_local = false;  ///< the private server of this machine: nothing else counts

  /// Reads a URL: one of those of cli/help.cpp. Percent escapes are undone. An empty password is none. A failure
  /// (usage) names what is wrong with the URL, but not its user or password.
  static base::Result<Address> parse(std::string_view url);

  /// The URL without its password, for people, and for parse() again.
  std::string display() const;
  /// The same without its ?query: for messages.
  std::string name() const;
};

/// Whether these servers can keep a lock together: one alone, or 3 to 7 of which none is named twice. A failure (usage)
/// says what is wrong.
base::Result<void> check_together(std::span<const Address> addresses);

}  // namespace rlock::redis
