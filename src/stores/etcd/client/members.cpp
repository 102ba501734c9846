#include "stores/etcd/client/members.hpp"

#include <utility>

#include "base/random_seed.hpp"

namespace rlock::etcd {

using base::ErrorCode;
using base::Result;
using base::Wait;

namespace {

constexpr net::Schemes schemes{.plain = "etcd", .tls = "etcds"};

}  // namespace

Members::Members(const Address& address) : socket_(address.socket), tls_(address.tls) {
  for (const auto& endpoint : address.endpoints) {
    const auto name = "etcd at " + endpoint.name();
    if (address.host_may_be_secret) {
      members_.push_back(
          {address.name(), net::Lookup(endpoint, "the host of the URL (not shown: it may be a password)"), name});
    } else {
      members_.push_back({name, net::Lookup(endpoint, endpoint.host), ""});
    }
  }
  if (members_.empty()) members_.push_back({"etcd at " + socket_, std::nullopt, ""});
  at_ = base::random_seed() % members_.size();
}

Result<net::Target> Members::target_of(Member& member, Wait wait) {
  if (!member.lookup) return net::Target{{net::unix_address(socket_)}};
  auto addresses = RLOCK_TRY(member.lookup->addresses(wait));
  if (!member.revealed.empty()) member.name = std::exchange(member.revealed, "");
  return net::Target{std::move(addresses), member.lookup->endpoint().host, tls_};
}

Result<net::Http> Members::connect_to(Member& member, Wait wait) {
  const auto target = RLOCK_TRY(target_of(member, wait));
  auto socket = net::connect(target.addresses, member.name, wait);
  if (!socket) {
    if (member.lookup) member.lookup->refused();
    return std::unexpected(std::move(socket).error());
  }
  const auto place = net::place_of(net::peer_of(socket->get()));
  auto stream = RLOCK_TRY(net::stream_to(target, schemes, *std::move(socket)));
  auto channel = RLOCK_TRY(net::Channel::open(std::move(stream), member.name, place, wait));
  return net::Http(std::move(channel), member.lookup ? member.lookup->endpoint().name() : "localhost");
}

Result<net::Http> Members::connect(Wait wait) {
  std::optional<base::Error> worst;
  for (auto left = members_.size(); left > 0; --left) {
    auto http = connect_to(members_[at_], wait.share(static_cast<long>(left)));
    if (http) return http;
    auto error = std::move(http).error();
    if (error.code == ErrorCode::interrupted || error.code == ErrorCode::configuration) {
      return std::unexpected(std::move(error));
    }
    if (!worst || worst->code == ErrorCode::unreachable) worst = std::move(error);
    next();
  }
  const auto others = members_.size() - 1;
  if (others > 0) {
    worst->message +=
        "; nor can its " + std::to_string(others) + " other member" + (others == 1 ? "" : "s") + " be used";
  }
  return std::unexpected(std::move(*worst));
}

}  // namespace rlock::etcd
