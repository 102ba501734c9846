#include "stores/zookeeper/store.hpp"

#include <memory>
#include <utility>

#include "net/tls_query.hpp"
#include "stores/common/credentials.hpp"
#include "stores/ordered/ordered.hpp"
#include "stores/zookeeper/address.hpp"
#include "stores/zookeeper/zookeeper_store.hpp"

namespace rlock::zookeeper {

using base::ErrorCode;
using base::fail;
using base::Result;
using stores::Settings;

namespace {

class Servers final : public stores::Store {
 public:
  Servers(Address address, Place place) : address_(std::move(address)), place_(std::move(place)) {}

  std::unique_ptr<lock::Backend> open(const std::string& wire_key, base::Duration timeout,
                                      stores::Purpose /*purpose*/) const override {
    return std::make_unique<ordered::Ordered>(std::make_unique<ZookeeperStore>(place_, wire_key, timeout));
  }

  std::string urls() const override {
    auto address = address_;
    if (address.tls) address.tls = net::with_absolute_paths(*std::move(address.tls));
    return address.display();
  }

 private:
  Address address_;
  Place place_;
};

// What only servers that forget need, or that libraries share with Redis alone.
Result<void> check_wishes(const Settings& settings) {
  const auto refuse = [](const std::string& why) { return fail(ErrorCode::usage, why + "; leave it out"); };
  if (settings.compat != stores::Compat::none) {
    return refuse("--compat is for Redis: no library shares the locks that rlock keeps in ZooKeeper");
  }
  if (settings.replicas > 0) {
    return refuse("--replicas is for Redis: with ZooKeeper a majority of the members has each lock before it counts");
  }
  if (settings.grace > base::Duration::zero()) {
    return refuse("--grace is for Redis: ZooKeeper does not forget a lock when it restarts");
  }
  return {};
}

Result<Place> place_of(const Settings& settings, const Address& address) {
  Place place;
  place.root = address.root;
  place.is_default_root = address.has_default_root;
  place.ensemble.members = address.endpoints;
  place.ensemble.tls = address.tls;
  place.ensemble.host_may_be_secret = address.host_may_be_secret;
  stores::Credentials credentials(settings);
  RLOCK_TRY(credentials.check_key(address.tls));
  const auto secret = RLOCK_TRY(credentials.password(address.password));
  const auto wrong = settings.are_urls_from_file ? ErrorCode::configuration : ErrorCode::usage;
  if (address.user.empty() && secret) {
    return fail(wrong, settings.urls_source +
                           ": the URL names no user, and ZooKeeper knows no password without one; write "
                           "zookeeper://USER@HOST");
  }
  if (address.user.empty()) return place;
  if (!secret) {
    return fail(
        wrong, settings.urls_source + ": the URL has a user without a password; name a file with it (--password-file)");
  }
  place.ensemble.user = address.user;
  place.ensemble.password = secret->text;
  place.ensemble.password_source = secret->source.name;
  if (address.tls) return place;
  const auto host = net::first_elsewhere(address.endpoints);
  stores::advise_encryption(!host.empty() && address.host_may_be_secret ? "another host" : host, "zookeepers");
  return place;
}

Result<std::unique_ptr<stores::Store>> open(const Settings& settings) {
  const auto wrong = settings.are_urls_from_file ? ErrorCode::configuration : ErrorCode::usage;
  if (settings.urls.size() > 1) {
    return fail(wrong, settings.urls_source +
                           " names several ensembles of ZooKeeper; one is a majority already: name all of its members "
                           "in one URL, zookeeper://HOST,HOST,HOST");
  }
  auto address = Address::parse(settings.urls.front());
  if (!address) return fail(wrong, settings.urls_source + ": the URL " + address.error().message);
  RLOCK_TRY(check_wishes(settings));
  auto place = RLOCK_TRY(place_of(settings, *address));
  return std::make_unique<Servers>(*std::move(address), std::move(place));
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

// None but those of net, which the first kind names.
std::string libraries() { return ""; }

constexpr stores::UrlForm forms[]{
    {"zookeeper://[user@]host[:port],...[/chroot]", "ZooKeeper, its members; zookeepers:// with TLS"},
};

}  // namespace

constexpr stores::Kind store_kind{
    .schemes = "zookeeper zookeepers",
    .forms = forms,
    .check_url = check_url,
    .has_password = has_password,
    .may_hold_password = may_hold_password,
    .is_reserved = [](std::string_view) { return false; },
    .open = open,
    .libraries = libraries,
};

}  // namespace rlock::zookeeper
