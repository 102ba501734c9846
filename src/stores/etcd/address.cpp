#include "stores/etcd/address.hpp"

#include <utility>

#include "base/text/text.hpp"
#include "net/tls_query.hpp"
#include "net/url.hpp"

namespace rlock::etcd {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr std::string_view unix_scheme = "etcd+unix";
constexpr std::size_t max_prefix = 200;  // bytes

Result<void> read_prefix(std::string_view text, Address& address) {
  while (text.ends_with('/')) text.remove_suffix(1);
  if (text.empty()) return {};
  if (!text.starts_with('/')) return fail(ErrorCode::usage, "has a prefix that does not begin with a /");
  if (base::has_control(text)) return fail(ErrorCode::usage, "has a control character in its prefix");
  if (text.size() > max_prefix) return fail(ErrorCode::usage, "has a prefix of over 200 bytes");
  address.prefix = text;
  return {};
}

Result<void> read_query(const net::Url& url, Address& address) {
  for (const auto& [name, value] : url.query) {
    std::string* field = address.tls ? net::field_of(*address.tls, name) : nullptr;
    std::string prefix;
    if (address.endpoints.empty() && name == "prefix") field = &prefix;
    if (field == nullptr) {
      if (address.endpoints.empty()) return fail(ErrorCode::usage, "cannot have a ?query other than ?prefix=/PREFIX");
      if (!address.tls) return fail(ErrorCode::usage, "cannot have a ?query; that is for etcds:// and etcd+unix://");
      return fail(ErrorCode::usage, "cannot have a ?query other than ?" + std::string(net::tls_query_form));
    }
    if (value.empty()) return fail(ErrorCode::usage, "has no value in ?" + name + "=");
    *field = value;
    RLOCK_TRY(read_prefix(prefix, address));
  }
  return address.tls ? net::check_pair(*address.tls) : Result<void>();
}

Result<Address> parse_url(std::string_view text) {
  const auto url = RLOCK_TRY(net::Url::split(text));
  Address address;
  RLOCK_TRY(stores::read_user(url, words, address));
  if (url.scheme == unix_scheme) {
    address.socket = RLOCK_TRY(url.socket_path());
    RLOCK_TRY(read_query(url, address));
    return address;
  }
  if (url.scheme == "etcds") {
    address.tls.emplace();
  } else if (url.scheme != "etcd") {
    return fail(ErrorCode::usage,
                "has an unknown form; write etcd://HOST[:PORT],...[/PREFIX], etcds:// or etcd+unix:///path");
  }
  address.endpoints = RLOCK_TRY(net::read_endpoints(url.hosts, default_port));
  address.host_may_be_secret = url.host_may_be_secret();
  RLOCK_TRY(read_query(url, address));
  const auto prefix = net::unescape(url.path);
  if (!prefix) return fail(ErrorCode::usage, "has a broken % escape");
  RLOCK_TRY(read_prefix(*prefix, address));
  return address;
}

}  // namespace

Result<Address> Address::parse(std::string_view url) {
  auto parsed = parse_url(url);
  if (!parsed) parsed.error().message += net::advice_on(url);
  return parsed;
}

std::string Address::display() const {
  const bool has_default = prefix == Address().prefix;
  std::string query;
  if (endpoints.empty()) {
    if (!has_default) net::add_to_query(query, "prefix", prefix);
    return std::string(unix_scheme) + "://" + shown_user() + net::escape(socket, "%?,") + query;
  }
  if (tls) net::add_to_query(query, *tls);
  return (tls ? "etcds://" : "etcd://") + shown_user() + net::text_of(endpoints) +
         (has_default ? "" : net::escape(prefix, "%?#,")) + query;
}

}  // namespace rlock::etcd
