#include "stores/redis/store.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "net/dns.hpp"
#include "net/tls.hpp"
#include "net/tls_query.hpp"
#include "stores/common/credentials.hpp"
#include "stores/quorum/quorum.hpp"
#include "stores/redis/client/connection.hpp"
#include "stores/redis/cluster.hpp"
#include "stores/redis/locate/address.hpp"
#include "stores/redis/locate/fixed_locator.hpp"
#include "stores/redis/locate/local_locator.hpp"
#include "stores/redis/locate/schemes.hpp"
#include "stores/redis/locate/sentinel_locator.hpp"
#include "stores/redis/single_server.hpp"

namespace rlock::redis {

using base::ErrorCode;
using base::fail;
using base::Result;
using stores::Purpose;
using stores::Settings;

namespace {

std::string_view password_of_environment() {
  const char* password = std::getenv("REDISCLI_AUTH");
  return password != nullptr ? password : "";
}

// A lone word before an @ is the user where the password comes from elsewhere.
Result<Address> read_address(const std::string& url, bool is_password_elsewhere) {
  auto address = RLOCK_TRY(Address::parse(url));
  if (!address.is_local && (is_password_elsewhere || !password_of_environment().empty())) {
    address.take_lone_word_for_user();
  }
  return address;
}

// Gives the address its passwords, and looks at the key of its certificate.
Result<void> add_passwords(stores::Credentials& credentials, Address& address) {
  if (auto secret = RLOCK_TRY(credentials.password(address.password))) {
    address.password = std::move(secret->text);
    address.password_source = std::move(secret->source);
  }
  if (!address.password && !address.is_local && !password_of_environment().empty()) {
    address.password = password_of_environment();
    address.password_source.name = "REDISCLI_AUTH";
  }
  // A user without a password is still sent to the server, which must not take us for the default user.
  if (!address.password && !address.user.empty()) address.password = "";
  if (!address.sentinel_password_file.empty()) {
    auto secret = RLOCK_TRY(credentials.read("--server: ?sentinel_password_file", address.sentinel_password_file));
    address.sentinel_password = std::move(secret.text);
    address.sentinel_password_source = std::move(secret.source);
  }
  return credentials.check_key(address.tls);
}

// The first host that this password would be sent to without encryption over a network; empty: there is none.
std::string in_the_clear(const Address& address) {
  const bool has_secret = (address.password && !address.password->empty()) || address.sentinel_password;
  if (!has_secret || address.tls || address.transport == Transport::unix_socket) return "";
  auto host = net::first_elsewhere(address.endpoints);
  return !host.empty() && address.host_may_be_secret ? "another host" : host;
}

Greeting greeting_of(const Address& address) {
  return {address.user, address.password, address.database, std::string(address.lone_word_note()),
          address.password_source};
}

// The server alone, whoever uses it.
std::string place_name(const Address& address) {
  return address.transport == Transport::unix_socket ? address.path : address.endpoints.front().name();
}

std::unique_ptr<Locator> locator_of(const Address& address, OnDemand on_demand) {
  if (address.is_local) return std::make_unique<LocalLocator>(on_demand);
  if (address.kind == redis::Kind::sentinel) return std::make_unique<SentinelLocator>(address);
  return std::make_unique<FixedLocator>(address);
}

// Each of n servers gives `slots` votes, and a holder needs more than n/2 of them: for two slots on three servers that
// would be three holders.
Result<void> check_mode(const Settings& settings, std::size_t servers) {
  if (settings.mode.is_for_several() && settings.compat == stores::Compat::redisson) {
    return fail(ErrorCode::usage, settings.mode.option() +
                                      " does not go together with --compat redisson, whose RLock has one holder; leave "
                                      "one of them out");
  }
  if (settings.mode.kind == lock::Mode::Kind::slots && servers > 1) {
    return fail(ErrorCode::usage,
                "--slots cannot be counted by several independent servers (--server); use one server, Sentinel or a "
                "Cluster");
  }
  return {};
}

// The address with the files that its URL names as absolute paths.
Address movable(Address address) {
  if (address.tls) address.tls = net::with_absolute_paths(*std::move(address.tls));
  if (!address.sentinel_password_file.empty()) {
    address.sentinel_password_file = base::absolute_path(address.sentinel_password_file);
  }
  return address;
}

class Servers final : public stores::Store {
 public:
  Servers(std::vector<Address> addresses, const Settings& settings)
      : addresses_(std::move(addresses)),
        compat_(settings.compat),
        safeguards_{settings.grace, settings.replicas, addresses_.size() > 1} {}

  std::unique_ptr<lock::Backend> open(const std::string& wire_key, base::Duration timeout,
                                      Purpose purpose) const override {
    // A list is of locks of every form: the plain scripts show those of another as foreign.
    const auto& scripts =
        compat_ == stores::Compat::redisson && purpose != Purpose::list ? redisson_scripts : plain_scripts;
    const auto greet = purpose == Purpose::acquire || purpose == Purpose::held ? Greet::together : Greet::first;
    const auto on_demand = purpose == Purpose::held ? OnDemand::fail : OnDemand::start;
    const auto server_at = [&](const Address& address) {
      return std::make_unique<SingleServer>(
          Session(locator_of(address, on_demand), greeting_of(address), timeout, greet), scripts, safeguards_);
    };
    if (addresses_.size() > 1) {
      std::vector<quorum::Quorum::Server> servers;
      for (const auto& address : addresses_) {
        servers.push_back({quorum::rank_of(wire_key, place_name(address)), server_at(address)});
      }
      return std::make_unique<quorum::Quorum>(std::move(servers), timeout);
    }
    const auto& address = addresses_.front();
    if (address.kind == redis::Kind::cluster) {
      return std::make_unique<Cluster>(address, greeting_of(address), timeout, greet, wire_key, scripts, safeguards_);
    }
    return server_at(address);
  }

  std::string urls() const override {
    std::string urls;
    for (const auto& address : addresses_) urls += (urls.empty() ? "" : ",") + movable(address).display();
    return urls;
  }

 private:
  std::vector<Address> addresses_;
  stores::Compat compat_;
  Safeguards safeguards_;
};

Result<std::unique_ptr<stores::Store>> open(const Settings& settings) {
  const auto wrong = settings.are_urls_from_file ? ErrorCode::configuration : ErrorCode::usage;
  std::vector<Address> addresses;
  for (const auto& url : settings.urls) {
    auto address = read_address(url, !settings.password_file.empty());
    if (!address) return fail(wrong, settings.urls_source + ": the URL " + address.error().message);
    addresses.push_back(std::move(*address));
  }
  if (addresses.empty()) addresses.emplace_back();
  if (auto together = check_together(addresses); !together) {
    return fail(wrong, settings.urls_source + " " + together.error().message);
  }
  RLOCK_TRY(check_mode(settings, addresses.size()));
  stores::Credentials credentials(settings);
  std::string other_host;
  for (auto& address : addresses) {
    RLOCK_TRY(add_passwords(credentials, address));
    if (other_host.empty()) other_host = in_the_clear(address);
  }
  stores::advise_encryption(other_host, "rediss");
  return std::make_unique<Servers>(std::move(addresses), settings);
}

Result<void> check_url(const std::string& url) {
  RLOCK_TRY(Address::parse(url));
  return {};
}

bool has_password(const std::string& url, bool is_elsewhere) {
  const auto address = read_address(url, is_elsewhere);
  return address && address->password && !address->password->empty();
}

bool may_hold_password(const std::string& url) {
  const auto address = Address::parse(url);
  return address && address->password;
}

std::string libraries() {
  return "OpenSSL " + net::openssl_version() + ", hiredis " + hiredis_version() + ", c-ares " + net::c_ares_version();
}

constexpr stores::UrlForm forms[]{
    {"redis://[[user:]password@]host[:port][/db]", "a server; rediss:// with TLS"},
    {"unix:///path[?db=N]", "one at a Unix socket"},
    {"redis+sentinel://host[:port],.../master[/db]", "the master that Sentinel names"},
    {"redis+cluster://host[:port],...", "a Cluster"},
    {"local", "this machine alone"},
    {"URL,URL,URL", "3 to 7: a majority holds"},
};

}  // namespace

constexpr stores::Kind store_kind{
    .schemes = {scheme_words.data(), scheme_words.size()},
    .forms = forms,
    .check_url = check_url,
    .has_password = has_password,
    .may_hold_password = may_hold_password,
    .is_reserved = is_side_key,
    .open = open,
    .libraries = libraries,
};

}  // namespace rlock::redis
