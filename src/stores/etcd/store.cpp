#include "stores/etcd/store.hpp"

#include <utility>

#include "net/http.hpp"
#include "stores/etcd/address.hpp"
#include "stores/etcd/client/http_client.hpp"
#include "stores/etcd/etcd_store.hpp"
#include "stores/ordered/ordered.hpp"

namespace rlock::etcd {

using base::Result;

namespace {

class Cluster final : public stores::Store {
 public:
  explicit Cluster(Address address) : address_(std::move(address)) {}

  std::unique_ptr<lock::Backend> open(const std::string& wire_key, base::Duration timeout,
                                      stores::Purpose /*purpose*/) const override {
    auto client = std::make_unique<HttpClient>(address_, timeout);
    return std::make_unique<ordered::Ordered>(
        std::make_unique<EtcdStore>(std::move(client), address_.prefix, wire_key));
  }

  std::string urls() const override { return stores::url_of(address_); }

 private:
  Address address_;
};

Result<std::unique_ptr<stores::Store>> open(const stores::Settings& settings) {
  return std::make_unique<Cluster>(RLOCK_TRY(stores::address_of<Address>(settings, words)));
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
    .check_url = stores::check_url<Address>,
    .has_password = stores::has_password<Address>,
    .may_hold_password = stores::may_hold_password<Address>,
    .is_reserved = [](std::string_view) { return false; },
    .open = open,
    .libraries = libraries,
};

}  // namespace rlock::etcd
