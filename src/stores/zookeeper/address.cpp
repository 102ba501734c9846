#include "stores/zookeeper/address.hpp"

#include <utility>

#include "base/text/text.hpp"
#include "net/tls_query.hpp"
#include "net/url.hpp"

namespace rlock::zookeeper {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

// "/a/b", as ZooKeeper takes it; empty for "/".
Result<std::string> read_root(std::string_view path) {
  auto root = net::unescape(path);
  if (!root) return fail(ErrorCode::usage, "has a broken % escape");
  while (root->ends_with('/')) root->pop_back();
  if (base::has_control(*root)) return fail(ErrorCode::usage, "has a control character in its path");
  std::string_view left = *root;
  base::take_until(left, '/');
  for (bool is_more = !root->empty(); is_more;) {
    is_more = left.contains('/');
    const auto part = base::take_until(left, '/');
    if (part.empty() || part == "." || part == "..") {
      return fail(ErrorCode::usage, "has a path that no node of ZooKeeper can have");
    }
  }
  return *root;
}

Result<void> read_query(const net::Url& url, Address& address) {
  for (const auto& [name, value] : url.query) {
    if (!address.tls) return fail(ErrorCode::usage, "cannot have a ?query; that is for zookeepers://");
    auto* const field = net::field_of(*address.tls, name);
    if (field == nullptr) {
      return fail(ErrorCode::usage, "cannot have a ?query other than ?" + std::string(net::tls_query_form));
    }
    if (value.empty()) return fail(ErrorCode::usage, "has no value in ?" + name + "=");
    *field = value;
  }
  return address.tls ? net::check_pair(*address.tls) : Result<void>();
}

Result<Address> parse_url(std::string_view text) {
  const auto url = RLOCK_TRY(net::Url::split(text));
  Address address;
  RLOCK_TRY(stores::read_user(url, words, address));
  // That is where ZooKeeper takes the password to begin.
  if (address.user.contains(':')) return fail(ErrorCode::usage, "has a colon in its user");
  if (url.scheme == "zookeepers") {
    address.tls.emplace();
  } else if (url.scheme != "zookeeper") {
    return fail(ErrorCode::usage, "has an unknown form; write zookeeper://HOST[:PORT],...[/PATH] or zookeepers://");
  }
  address.endpoints = RLOCK_TRY(net::read_endpoints(url.hosts, address.tls ? default_tls_port : default_port));
  address.host_may_be_secret = url.host_may_be_secret();
  RLOCK_TRY(read_query(url, address));
  address.has_default_root = url.path.empty();
  if (!address.has_default_root) address.root = RLOCK_TRY(read_root(url.path));
  return address;
}

}  // namespace

Result<Address> Address::parse(std::string_view url) {
  auto parsed = parse_url(url);
  if (!parsed) parsed.error().message += net::advice_on(url);
  return parsed;
}

std::string Address::display() const {
  std::string path = has_default_root ? "" : net::escape(root, "%?#,");
  if (!has_default_root && root.empty()) path = "/";
  std::string query;
  if (tls) net::add_to_query(query, *tls);
  return (tls ? "zookeepers://" : "zookeeper://") + shown_user() + net::text_of(endpoints) + path + query;
}

}  // namespace rlock::zookeeper
