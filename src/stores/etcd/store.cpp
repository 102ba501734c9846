#include "stores/etcd/store.hpp"

#include <utility>

#include "net/http.hpp"
#include "net/tls_query.hpp"
#include "stores/common/credentials.hpp"
#include "stores/etcd/address.hpp"
#include "stores/etcd/client/http_client.hpp"
#include "stores/etcd/etcd_store.hpp"
#include "stores/ordered/ordered.hpp"

namespace rlock::etcd {

using base::ErrorCode;
using base::fail;
using base::Result;
using stores::Purpose;
using stores::Settings;

namespace {

class Cluster final : public stores::Store {
 public:
  explicit Cluster(Address address) : address_(std::move(address)) {}

  std::unique_ptr<lock::Backend> open(const std::string& wire_key, base::Duration timeout,
                                      Purpose /*purpose*/) const override {
    auto client = std::make_unique<HttpClient>(address_, timeout);
    return std::make_unique<ordered::Ordered>(
        std::make_unique<EtcdStore>(std::move(client), address_.prefix, wire_key));
  }

  std::string urls() const override {
    auto address = address_;
    if (address.tls) address.tls = net::with_absolute_paths(*std::move(address.tls));
    return address.display();
  }

 private:
  Address address_;
};

// What only servers that forget need, or that libraries share with Redis alone.
Result<void> check_wishes(const Settings& settings) {
  const auto refuse = [](const std::string& why) { return fail(ErrorCode::usage, why + "; leave it out"); };
  if (settings.compat != stores::Compat::none) {
    return refuse("--compat is for Redis: no library shares the locks that rlock keeps in etcd");
  }
  if (settings.replicas > 0) {
    return refuse("--replicas is for Redis: with etcd a majority of the members has each lock before it counts");
  }
  if (settings.grace > base::Duration::zero()) {
    return refuse("--grace is for Redis: etcd does not forget a lock when it restarts");
  }
  return {};
}

Result<void> add_password(const Settings& settings, Address& address) {
  const auto wrong = settings.are_urls_from_file ? ErrorCode::configuration : ErrorCode::usage;
  stores::Credentials credentials(settings);
  RLOCK_TRY(credentials.check_key(address.tls));
  auto secret = RLOCK_TRY(credentials.password(address.password));
  if (address.user.empty() && secret) {
    return fail(wrong, settings.urls_source +
                           ": the URL names no user, and etcd knows no password without one; write etcd://USER@HOST");
  }
  if (address.user.empty()) return {};
  if (!secret) {
    return fail(
        wrong, settings.urls_source + ": the URL has a user without a password; name a file with it (--password-file)");
  }
  address.password = std::move(secret->text);
  address.password_source = std::move(secret->source);
  if (!address.tls) {
    const auto host = net::first_elsewhere(address.endpoints);
    stores::advise_encryption(!host.empty() && address.host_may_be_secret ? "another host" : host, "etcds");
  }
  return {};
}

Result<std::unique_ptr<stores::Store>> open(const Settings& settings) {
  const auto wrong = settings.are_urls_from_file ? ErrorCode::configuration : ErrorCode::usage;
  if (settings.urls.size() > 1) {
    return fail(wrong, settings.urls_source +
                           " names several clusters of etcd; one is a majority already: name all of its members in one "
                           "URL, etcd://HOST,HOST,HOST");
  }
  auto address = Address::parse(settings.urls.front());
  if (!address) return fail(wrong, settings.urls_source + ": the URL " + address.error().message);
  RLOCK_TRY(check_wishes(settings));
  RLOCK_TRY(add_password(settings, *address));
  return std::make_unique<Cluster>(*std::move(address));
}

Result<void> check_url(const std::string& url) {
  RLOCK_TRY(Address::parse(url));
  return {};
}

bool has_password(const std::string& url, bool /*is_elsewhere*/) {
  const auto address = Address::parse(url);
  return address && address->password;
}

bool may_hold_password(const std::string& url) {
  const auto address = Address::parse(url);
  return address && (address->password || address->has_lone_word);
}

std::string libraries() { return "http-parser " + net::http_parser_version_text(); }

constexpr stores::UrlForm forms[]{
    {"etcd://[user@]host[:port],...[/prefix]", "etcd, its members; etcds:// with TLS"},
    {"etcd+unix:///path[?prefix=/prefix]", "one at a Unix socket"},
};

}  // namespace

constexpr stores::Kind store_kind{
    .schemes = "etcd etcds etcd+unix",
    .forms = forms,
    .check_url = check_url,
    .has_password = has_password,
    .may_hold_password = may_hold_password,
    .is_reserved = [](std::string_view) { return false; },
    .open = open,
    .libraries = libraries,
};

}  // namespace rlock::etcd
