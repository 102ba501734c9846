#include "stores/zookeeper/address.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "net/url.hpp"

namespace rlock::zookeeper {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

Result<std::vector<net::Endpoint>> read_hosts(std::string_view hosts, std::uint16_t port) {
  if (hosts.starts_with(',') || hosts.ends_with(',') || hosts.contains(",,")) {
    return fail(ErrorCode::usage, "has an extra comma");
  }
  if (hosts.contains(' ')) {
    return fail(ErrorCode::usage, "has a space in it; write a comma, and no space, between two hosts");
  }
  std::vector<net::Endpoint> endpoints;
  do {
    auto endpoint = RLOCK_TRY(net::read_endpoint(base::take_until(hosts, ','), port));
    if (std::ranges::any_of(endpoints, [&](const auto& other) { return net::is_same(endpoint, other); })) {
      return fail(ErrorCode::usage, "names " + endpoint.name() + " twice");
    }
    endpoints.push_back(std::move(endpoint));
  } while (!hosts.empty());
  return endpoints;
}

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
  if (!address.tls) {
    if (url.query.empty()) return {};
    return fail(ErrorCode::usage, "cannot have a ?query; that is for zookeepers://");
  }
  for (const auto& [name, value] : url.query) {
    std::string* field = nullptr;
    if (name == "cacert") field = &address.tls->cacert;
    if (name == "cert") field = &address.tls->cert;
    if (name == "key") field = &address.tls->key;
    if (field == nullptr) {
      return fail(ErrorCode::usage, "cannot have another ?query than ?cacert=FILE&cert=FILE&key=FILE");
    }
    if (value.empty()) return fail(ErrorCode::usage, "has no value in ?" + name + "=");
    *field = value;
  }
  if (address.tls->cert.empty() != address.tls->key.empty())
    return fail(ErrorCode::usage, "needs both ?cert= and ?key=");
  return {};
}

void add_to_query(std::string& query, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  query += (query.empty() ? "?" : "&") + std::string(name) + "=" + net::escape(value, "%?&#,");
}

}  // namespace

Result<Address> Address::parse(std::string_view text, bool is_elsewhere) {
  const auto url = RLOCK_TRY(net::Url::split(text));
  Address address;
  if (url.scheme == "zookeepers") address.tls.emplace();
  address.user = url.user;
  address.password = url.password;
  if (url.has_lone_word) {
    if (!is_elsewhere) return fail(ErrorCode::usage, "has no user; write zookeeper://USER:PASSWORD@HOST");
    address.user = *std::exchange(address.password, std::nullopt);
  }
  if (address.user.empty() && address.password) {
    return fail(ErrorCode::usage, "has a password and no user; write zookeeper://USER:PASSWORD@HOST");
  }
  // That is where ZooKeeper takes the password to begin.
  if (address.user.contains(':')) return fail(ErrorCode::usage, "has a colon in its user");
  RLOCK_TRY(read_query(url, address));
  address.endpoints = RLOCK_TRY(read_hosts(url.hosts, address.tls ? default_tls_port : default_port));
  address.has_default_root = url.path.empty();
  if (!address.has_default_root) address.root = RLOCK_TRY(read_root(url.path));
  return address;
}

std::string Address::display() const {
  std::string text = tls ? "zookeepers://" : "zookeeper://";
  if (!user.empty()) text += net::escape(user, "%:@/?#,") + ":@";
  std::string hosts;
  for (const auto& endpoint : endpoints) hosts += (hosts.empty() ? "" : ",") + endpoint.name();
  text += hosts;
  if (!has_default_root) text += root.empty() ? "/" : net::escape(root, "%?,");
  std::string query;
  if (tls) {
    add_to_query(query, "cacert", tls->cacert);
    add_to_query(query, "cert", tls->cert);
    add_to_query(query, "key", tls->key);
  }
  return text + query;
}

}  // namespace rlock::zookeeper
