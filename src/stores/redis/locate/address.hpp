#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "net/endpoint.hpp"
#include "net/tls.hpp"
#include "stores/common/secret_files.hpp"

namespace rlock::redis {

enum class Transport { tcp, unix_socket };

/// What stands at an address.
enum class Kind {
  server,    ///< one Redis or Valkey, or the private server of this machine
  sentinel,  ///< Sentinels, which know where the master is
  cluster,   ///< some nodes of a Cluster
};

constexpr std::uint16_t default_port = 6379;

/// What a word before the @ without a colon was taken for.
enum class LoneWord { none, password, user };

/// Where a lock is kept and the credentials for it.
struct Address {
  Kind kind = Kind::server;
  Transport transport = Transport::tcp;
  std::vector<net::Endpoint> endpoints{
      net::Endpoint{"127.0.0.1", default_port}};  ///< tcp: one for a server; else those to ask first
  std::optional<net::TlsSettings> tls;            ///< tcp: for all servers, Sentinels too
  std::string path;                               ///< unix_socket
  std::string master;                             ///< sentinel: the name that the Sentinels know it by
  std::string user;                               ///< empty: the default user
  std::optional<std::string> password;
  stores::SecretSource password_source;
  LoneWord lone_word = LoneWord::none;  ///< parse() takes it for the password
  bool host_may_be_secret = false;      ///< tcp: a lone word, such as a password that stands in place of the URL
  std::string sentinel_user;            ///< the same for the Sentinels
  std::string sentinel_password_file;   ///< as the URL has it; whoever reads it sets the next
  std::optional<std::string> sentinel_password;  ///< nullopt: they get the servers', if they ask for one
  stores::SecretSource sentinel_password_source;
  int database = 0;
  bool is_local = false;  ///< the private server of this machine: nothing else counts

  /// Reads a URL: one of those that rlock help lists. Percent escapes are undone. An empty password is none. A failure
  /// (usage) names what is wrong with the URL, but not its user or password.
  static base::Result<Address> parse(std::string_view url);

  /// The URL without its password, for parse() again.
  std::string display() const;
  /// For messages: without ?query, without what may be a password in the wrong place.
  std::string name() const;
  /// The host in messages about its name, which may lead nowhere.
  std::string shown_host() const;

  /// For a caller that has the password from elsewhere.
  void take_lone_word_for_user();
  /// What a message adds where these credentials are refused; empty without such a word.
  std::string_view lone_word_note() const;

 private:
  std::string text(std::string_view user_part, const std::string& hosts) const;
};

/// Whether these servers can keep a lock together: one alone, or 3 to 7 of which none is named twice. A failure (usage)
/// says what is wrong.
base::Result<void> check_together(std::span<const Address> addresses);

}  // namespace rlock::redis
