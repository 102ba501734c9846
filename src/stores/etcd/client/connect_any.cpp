#include "stores/etcd/client/connect_any.hpp"

#include <optional>
#include <utility>

namespace rlock::etcd {

using base::ErrorCode;

base::Result<net::Http> connect_any(stores::Members& members, base::Wait wait) {
  std::optional<base::Error> worst;
  for (auto left = members.size(); left > 0; --left) {
    auto channel = members.connect(wait.share(static_cast<long>(left)));
    if (channel) return net::Http(*std::move(channel), members.host());
    auto error = std::move(channel).error();
    if (error.code == ErrorCode::interrupted || error.code == ErrorCode::configuration) {
      return std::unexpected(std::move(error));
    }
    if (!worst || worst->code == ErrorCode::unreachable) worst = std::move(error);
    members.next();
  }
  const auto others = members.size() - 1;
  if (others > 0) {
    worst->message +=
        "; nor can its " + std::to_string(others) + " other member" + (others == 1 ? "" : "s") + " be used";
  }
  return std::unexpected(std::move(*worst));
}

}  // namespace rlock::etcd
