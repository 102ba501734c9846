#include "stores/zookeeper/store.hpp"

#include <memory>
#include <utility>

#include "stores/ordered/ordered.hpp"
#include "stores/zookeeper/address.hpp"
#include "stores/zookeeper/zookeeper_store.hpp"

namespace rlock::zookeeper {

using base::Result;

namespace {

class Servers final : public stores::Store {
 public:
  explicit Servers(Address address) : address_(std::move(address)) {}

  std::unique_ptr<lock::Backend> open(const std::string& wire_key, base::Duration timeout,
                                      stores::Purpose /*purpose*/) const override {
    return std::make_unique<ordered::Ordered>(std::make_unique<ZookeeperStore>(address_, wire_key, timeout));
  }

  std::string urls() const override { return stores::url_of(address_); }

 private:
  Address address_;
};

Result<std::unique_ptr<stores::Store>> open(const stores::Settings& settings) {
  return std::make_unique<Servers>(RLOCK_TRY(stores::address_of<Address>(settings, words)));
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
    .check_url = stores::check_url<Address>,
    .has_password = stores::has_password<Address>,
    .may_hold_password = stores::may_hold_password<Address>,
    .is_reserved = [](std::string_view) { return false; },
    .open = open,
    .libraries = libraries,
};

}  // namespace rlock::zookeeper
