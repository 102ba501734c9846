#include "stores/redis/locate/address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/number.hpp"
#include "base/text/text.hpp"
#include "net/tls_query.hpp"
#include "net/url.hpp"
#include "stores/redis/locate/schemes.hpp"

namespace rlock::redis {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr int max_database = 1'000'000;
constexpr std::uint16_t sentinel_port = 26379;
constexpr std::size_t min_quorum_servers = 3;
constexpr std::size_t max_quorum_servers = 7;

Result<int> read_database(std::string_view text) {
  const auto database = text.empty() ? std::optional(0) : base::parse_number<int>(text, max_database);
  if (!database || *database < 0) return fail(ErrorCode::usage, "has a database that is not a number");
  return *database;
}

Result<std::vector<net::Endpoint>> read_hosts(std::string_view hosts, Kind kind) {
  auto endpoints = RLOCK_TRY(net::read_endpoints(hosts, kind == Kind::sentinel ? sentinel_port : default_port));
  if (kind == Kind::server && endpoints.size() > 1) {
    return fail(ErrorCode::usage,
                "names several hosts: independent servers have a URL each; those of a Cluster are redis+cluster://, "
                "Sentinels redis+sentinel://");
  }
  return endpoints;
}

// /master[/db], or [/db].
Result<void> read_path(std::string_view path, Address& address) {
  if (path.starts_with('/')) path.remove_prefix(1);
  if (address.kind == Kind::sentinel) {
    const auto master = net::unescape(base::take_until(path, '/'));
    if (!master || master->empty()) {
      return fail(ErrorCode::usage, "names no master; write redis+sentinel://host[:port],.../master[/db]");
    }
    if (base::has_control(*master)) return fail(ErrorCode::usage, "has a control character in the name of its master");
    address.master = *master;
  }
  address.database = RLOCK_TRY(read_database(path));
  if (address.kind == Kind::cluster && address.database != 0) {
    return fail(ErrorCode::usage, "names a database; a Cluster has only one");
  }
  return {};
}

Result<void> read_query(const net::Url& url, Address& address) {
  for (const auto& [name, value] : url.query) {
    std::string* field = address.tls ? net::field_of(*address.tls, name) : nullptr;
    if (address.kind == Kind::sentinel && name == "sentinel_user") field = &address.sentinel_user;
    if (address.kind == Kind::sentinel && name == "sentinel_password_file") field = &address.sentinel_password_file;
    if (field == nullptr) {
      std::string known;
      if (address.tls) known += net::tls_query_form;
      if (address.kind == Kind::sentinel)
        known += std::string(known.empty() ? "" : "&") + "sentinel_user=USER&sentinel_password_file=FILE";
      return fail(ErrorCode::usage, known.empty() ? "cannot have a ?query; that is for rediss:// and redis+sentinel://"
                                                  : "cannot have a ?query other than ?" + known);
    }
    if (value.empty()) return fail(ErrorCode::usage, "has no value in ?" + name + "=");
    *field = value;
  }
  if (address.tls) RLOCK_TRY(net::check_pair(*address.tls));
  if (!address.sentinel_user.empty() && address.sentinel_password_file.empty()) {
    return fail(ErrorCode::usage, "has a ?sentinel_user= without ?sentinel_password_file=");
  }
  return {};
}

Result<Address> read_unix(const net::Url& url, Address address) {
  address.transport = Transport::unix_socket;
  address.path = RLOCK_TRY(url.socket_path());
  for (const auto& [name, value] : url.query) {
    if (name != "db") return fail(ErrorCode::usage, "has a query other than ?db=N");
    address.database = RLOCK_TRY(read_database(value.empty() ? "none" : value));
  }
  return address;
}

// HOST:PORT without a scheme. Any other text before a colon may be a user, and the number a password.
bool is_bare_address(std::string_view text) {
  const auto endpoint = net::read_endpoint(text, default_port);
  if (!endpoint) return false;
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return endpoint->host == "localhost" || ::inet_pton(AF_INET, endpoint->host.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, endpoint->host.c_str(), address.data()) == 1;
}

Result<Address> parse_url(std::string_view text) {
  Address address;
  const auto url = RLOCK_TRY(net::Url::split(text));
  address.user = url.user;
  address.password = url.password;
  if (url.has_lone_word) address.lone_word = LoneWord::password;
  if (url.scheme == socket_scheme) return read_unix(url, std::move(address));
  const auto* scheme = std::ranges::find(schemes, url.scheme, &Scheme::name);
  if (url.scheme.empty() && is_bare_address(text)) {
    return fail(ErrorCode::usage, "has no scheme; did you mean redis://" + std::string(text) + "?");
  }
  if (scheme == schemes.end()) {
    return fail(
        ErrorCode::usage,
        "has an unknown form; write redis://host[:port][/db], unix:///path, local, or another form of rlock help");
  }
  address.kind = scheme->kind;
  if (scheme->tls == Tls::yes) address.tls.emplace();
  RLOCK_TRY(read_query(url, address));
  address.endpoints = RLOCK_TRY(read_hosts(url.hosts, address.kind));
  address.host_may_be_secret = url.host_may_be_secret();
  RLOCK_TRY(read_path(url.path, address));
  return address;
}

}  // namespace

Result<Address> Address::parse(std::string_view text) {
  Address address;
  if (text == local_url) {
    address.transport = Transport::unix_socket;
    address.is_local = true;
    return address;
  }
  if (text.empty()) return fail(ErrorCode::usage, "is empty");
  auto parsed = parse_url(text);
  if (!parsed) parsed.error().message += net::advice_on(text);
  return parsed;
}

std::string Address::display() const {
  std::string query;
  if (tls) net::add_to_query(query, *tls);
  net::add_to_query(query, "sentinel_user", sentinel_user);
  net::add_to_query(query, "sentinel_password_file", sentinel_password_file);
  return text(user, net::text_of(endpoints)) + query;
}

std::string Address::name() const {
  if (!host_may_be_secret) return text(lone_word == LoneWord::user ? "" : user, net::text_of(endpoints));
  return text("", "***");
}

std::string Address::text(std::string_view user_part, const std::string& hosts) const {
  if (is_local) return std::string(local_url);
  const auto who = user_part.empty() ? std::string() : net::escape(user_part, "%:@/?#,") + ":@";
  if (transport == Transport::unix_socket) {
    return "unix://" + who + net::escape(path, "%?,") + (database != 0 ? "?db=" + std::to_string(database) : "");
  }
  const auto tls_wanted = tls ? Tls::yes : Tls::no;
  const auto* scheme =
      std::ranges::find_if(schemes, [&](const Scheme& s) { return s.kind == kind && s.tls == tls_wanted; });
  return std::string(scheme->name) + "://" + who + hosts + (master.empty() ? "" : "/" + net::escape(master, "%/?,")) +
         (database != 0 ? "/" + std::to_string(database) : "");
}

std::string Address::shown_host() const {
  return host_may_be_secret ? "the host of the URL (not shown: it may be a password)" : endpoints.front().host;
}

void Address::take_lone_word_for_user() {
  if (lone_word != LoneWord::password) return;
  lone_word = LoneWord::user;
  user = std::move(*password);
  password.reset();
}

std::string_view Address::lone_word_note() const {
  switch (lone_word) {
    case LoneWord::none:
      break;
    case LoneWord::password:
      return "; the word before the @ was taken for the password: write USER:@ if it is the user";
    case LoneWord::user:
      return "; the word before the @ was taken for the user, as the password comes from elsewhere: write :PASSWORD@ "
             "if it is the password";
  }
  return "";
}

Result<void> check_together(std::span<const Address> addresses) {
  if (addresses.size() == 1) return {};
  for (const auto& one : addresses) {
    if (one.kind == Kind::server && !one.is_local) continue;
    return fail(ErrorCode::usage, "names " + one.name() +
                                      " beside other servers; a majority can be of redis://, rediss:// and unix:// "
                                      "servers only");
  }
  if (addresses.size() < min_quorum_servers || addresses.size() > max_quorum_servers) {
    return fail(ErrorCode::usage, "names " + std::to_string(addresses.size()) +
                                      " servers; name one, or 3 to 7 of which a majority keeps the lock");
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto& one = addresses[i];
    const auto is_one = [&](const Address& other) {
      if (one.transport != other.transport) return false;
      return one.transport == Transport::tcp ? net::is_same(one.endpoints.front(), other.endpoints.front())
                                             : one.path == other.path;
    };
    if (std::ranges::any_of(addresses.first(i), is_one)) {
      return fail(ErrorCode::usage, "names the server of " + one.name() + " twice");
    }
  }
  return {};
}

}  // namespace rlock::redis
