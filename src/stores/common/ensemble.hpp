#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/endpoint.hpp"
#include "net/stream.hpp"
#include "net/tls_query.hpp"
#include "net/url.hpp"
#include "stores/common/secret_files.hpp"
#include "stores/common/store.hpp"

/// What stores have in common of which one URL names all members: etcd, ZooKeeper.
namespace rlock::stores {

/// The members of one cluster, and as whom to speak to them.
struct Ensemble {
  std::vector<net::Endpoint> endpoints;  ///< of the members; empty: a Unix socket
  std::string socket;                    ///< its path
  std::optional<net::TlsSettings> tls;   ///< nullopt: without TLS
  std::string user;                      ///< empty: none
  bool has_lone_word = false;            ///< what was taken for the user may be a password: it had no colon
  std::optional<std::string> password;
  SecretSource password_source;
  bool host_may_be_secret = false;  ///< a lone word, such as a password that stands in place of the URL

  /// As the URL shows the user, without the password: "USER:@"; empty where there is none.
  std::string shown_user() const;
};

/// Which store it is, in messages.
struct EnsembleWords {
  std::string_view name;     ///< "etcd"
  std::string_view several;  ///< "clusters of etcd"
  net::Schemes schemes;
};

/// Takes over who is named before the hosts. There is no password without a user, so a lone word is the user. Fails
/// with usage.
base::Result<void> read_user(const net::Url& url, const EnsembleWords& words, Ensemble& ensemble);

/// The one URL of the settings. Fails if there are several: with usage, or with configuration where a file has them.
base::Result<std::string> only_url(const Settings& settings, const EnsembleWords& words);

/// What is wrong with the URL of the settings; `what` goes on behind "the URL". With the code that only_url() has.
std::unexpected<base::Error> wrong_url(const Settings& settings, const std::string& what);

/// Fails with usage where the settings wish for what only Redis has.
base::Result<void> check_wishes(const Settings& settings, const EnsembleWords& words);

/// Gives the ensemble its password, and looks at the key of its certificate. Fails with usage or configuration.
base::Result<void> add_password(const Settings& settings, const EnsembleWords& words, Ensemble& ensemble);

/// The address that the settings name, with its password. Address is an Ensemble whose parse() reads a URL.
template <class Address>
base::Result<Address> address_of(const Settings& settings, const EnsembleWords& words) {
  auto address = Address::parse(RLOCK_TRY(only_url(settings, words)));
  if (!address) return wrong_url(settings, address.error().message);
  RLOCK_TRY(check_wishes(settings, words));
  RLOCK_TRY(add_password(settings, words, *address));
  return address;
}

/// Store::urls().
template <class Address>
std::string url_of(Address address) {
  if (address.tls) address.tls = net::with_absolute_paths(*std::move(address.tls));
  return address.display();
}

/// The functions of a Kind that read a URL.
template <class Address>
base::Result<void> check_url(const std::string& url) {
  RLOCK_TRY(Address::parse(url));
  return {};
}
template <class Address>
bool has_password(const std::string& url, bool /*is_elsewhere*/) {
  const auto address = Address::parse(url);
  return address && address->password;
}
template <class Address>
bool may_hold_password(const std::string& url) {
  const auto address = Address::parse(url);
  return address && (address->password || address->has_lone_word);
}

}  // namespace rlock::stores
