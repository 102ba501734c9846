#include "stores/common/members.hpp"

#include <utility>

#include "base/random_seed.hpp"

namespace rlock::stores {

using base::Result;
using base::Wait;

Members::Members(const Ensemble& ensemble, const EnsembleWords& words)
    : socket_(ensemble.socket), tls_(ensemble.tls), schemes_(words.schemes) {
  const auto at = std::string(words.name) + " at ";
  for (const auto& endpoint : ensemble.endpoints) {
    const auto name = at + endpoint.name();
    if (ensemble.host_may_be_secret) {
      members_.push_back(
          {at + "***", net::Lookup(endpoint, "the host of the URL (not shown: it may be a password)"), name});
    } else {
      members_.push_back({name, net::Lookup(endpoint, endpoint.host), ""});
    }
  }
  if (members_.empty()) members_.push_back({at + socket_, std::nullopt, ""});
  at_ = base::random_seed() % members_.size();
}

std::string Members::host() const {
  const auto& lookup = members_[at_].lookup;
  return lookup ? lookup->endpoint().name() : "localhost";
}

Result<net::Target> Members::target_of(Member& member, Wait wait) const {
  if (!member.lookup) return net::Target{{net::unix_address(socket_)}};
  auto addresses = RLOCK_TRY(member.lookup->addresses(wait));
  if (!member.revealed.empty()) member.name = std::exchange(member.revealed, "");
  return net::Target{std::move(addresses), member.lookup->endpoint().host, tls_};
}

Result<net::Channel> Members::connect(Wait wait) {
  auto& member = members_[at_];
  const auto target = RLOCK_TRY(target_of(member, wait));
  auto socket = net::connect(target.addresses, member.name, wait);
  if (!socket) {
    if (member.lookup) member.lookup->refused();
    return std::unexpected(std::move(socket).error());
  }
  const auto place = net::place_of(net::peer_of(socket->get()));
  auto stream = RLOCK_TRY(net::stream_to(target, schemes_, *std::move(socket)));
  return net::Channel::open(std::move(stream), member.name, place, wait);
}

}  // namespace rlock::stores
