#include "stores/zookeeper/store.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "stores/common/secret_files.hpp"
#include "stores/ordered/ordered.hpp"
#include "stores/zookeeper/address.hpp"
#include "stores/zookeeper/zookeeper_store.hpp"

namespace rlock::zookeeper {

using base::ErrorCode;
using base::fail;
using base::Result;
using stores::Settings;

namespace {

// The command may run elsewhere.
std::string absolute(const std::string& path) {
  std::error_code error;
  const auto result = std::filesystem::absolute(path, error);
  return error ? path : result.string();
}

bool is_this_machine(const net::Endpoint& endpoint) {
  return endpoint.host == "localhost" || endpoint.host == "::1" || endpoint.host.starts_with("127.");
}

class Servers final : public stores::Store {
 public:
  Servers(Address address, Place place) : address_(std::move(address)), place_(std::move(place)) {}

  std::unique_ptr<lock::Backend> open(const std::string& wire_key, base::Duration timeout,
                                      stores::Purpose /*purpose*/) const override {
    return std::make_unique<ordered::Ordered>(std::make_unique<ZookeeperStore>(place_, wire_key, timeout));
  }

  std::string urls() const override {
    auto address = address_;
    if (address.tls) {
      for (auto* file : {&address.tls->cacert, &address.tls->cert, &address.tls->key}) {
        if (!file->empty()) *file = absolute(*file);
      }
    }
    return address.display();
  }

 private:
  Address address_;
  Place place_;
};

// Gives the place its password, and looks at the key of the certificate.
Result<void> add_secrets(Place& place, const Address& address, const Settings& settings) {
  stores::SecretFiles files;
  auto& ensemble = place.ensemble;
  if (address.password) {
    ensemble.password = *address.password;
    ensemble.password_source = "the URL, " + settings.urls_source;
  } else if (!settings.password_file.empty()) {
    const auto secret = RLOCK_TRY(files.read(settings.password_file_source, settings.password_file));
    if (address.user.empty()) {
      return fail(ErrorCode::usage,
                  settings.password_file_source + " needs a user with it: write zookeeper://USER@HOST");
    }
    ensemble.password = secret.text;
    ensemble.password_source = secret.source.name;
  }
  if (address.tls && !address.tls->key.empty()) (void)RLOCK_TRY(files.open("--server: ?key=", address.tls->key, "key"));
  return {};
}

std::unexpected<base::Error> unneeded(const std::string& option, const std::string& why) {
  return fail(ErrorCode::usage, option + " is of no use with zookeeper://: " + why + "; leave it out");
}

Result<std::unique_ptr<stores::Store>> open(const Settings& settings) {
  const auto wrong = settings.are_urls_from_file ? ErrorCode::configuration : ErrorCode::usage;
  if (settings.urls.size() > 1) {
    return fail(wrong, settings.urls_source + " names several ensembles; name one, with commas between its hosts");
  }
  if (settings.compat != stores::Compat::none) return unneeded("--compat", "no library of Redis locks there");
  if (settings.grace > base::Duration::zero()) return unneeded("--grace", "a majority remembers the locks");
  if (settings.replicas > 0) return unneeded("--replicas", "a majority has each lock");
  auto address = Address::parse(settings.urls.front(), !settings.password_file.empty());
  if (!address) return fail(wrong, settings.urls_source + ": the URL " + address.error().message);
  Place place{.ensemble = {.members = address->endpoints,
                           .tls = address->tls,
                           .user = address->user,
                           .password = {},
                           .password_source = {}},
              .root = address->root,
              .is_default_root = address->has_default_root};
  RLOCK_TRY(add_secrets(place, *address, settings));
  const auto other = std::ranges::find_if_not(address->endpoints, is_this_machine);
  if (!place.ensemble.password.empty() && !address->tls && other != address->endpoints.end()) {
    base::log_advice("the password is sent unencrypted to " + other->host + "; zookeepers:// encrypts it");
  }
  return std::make_unique<Servers>(std::move(*address), std::move(place));
}

Result<void> check_url(const std::string& url) {
  // With a user alone, for a password from elsewhere.
  RLOCK_TRY(Address::parse(url, true));
  return {};
}

bool has_password(const std::string& url, bool is_elsewhere) {
  const auto address = Address::parse(url, is_elsewhere);
  return address && address->password;
}

bool may_hold_password(const std::string& url) {
  const auto address = Address::parse(url, true);
  return address && (address->password || !address->user.empty());
}

bool is_reserved(std::string_view /*wire_key*/) { return false; }

// None but those of net, which the first kind names.
std::string libraries() { return ""; }

constexpr stores::UrlForm forms[]{
    {"zookeeper://[user:password@]host[:port],.../path", "a ZooKeeper; zookeepers:// with TLS"},
};

}  // namespace

constexpr stores::Kind store_kind{
    .schemes = "zookeeper zookeepers",
    .forms = forms,
    .check_url = check_url,
    .has_password = has_password,
    .may_hold_password = may_hold_password,
    .is_reserved = is_reserved,
    .open = open,
    .libraries = libraries,
};

}  // namespace rlock::zookeeper
