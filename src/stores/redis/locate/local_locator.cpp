#include "stores/redis/locate/local_locator.hpp"

namespace rlock::redis {

using base::ErrorCode;
using base::Result;

namespace {

std::unexpected<base::Error> gone() {
  return base::fail(ErrorCode::gone, "the local server is gone, and its locks with it");
}

}  // namespace

Result<net::Target> LocalLocator::locate(Reason, base::Wait) {
  if (socket_.empty()) socket_ = RLOCK_TRY(local_socket());
  found_ = LocalServer::at(socket_);
  return net::Target{{net::unix_address(socket_)}};
}

Result<bool> LocalLocator::revive(base::Wait wait) {
  if (must_be_the_same() && reached_->is_gone_from(socket_)) return gone();
  if (on_demand_ == OnDemand::fail) return false;
  RLOCK_TRY(start_local_server(socket_, wait.poller()));
  found_ = LocalServer::at(socket_);
  return true;
}

Result<void> LocalLocator::connected(int fd) {
  found_.reached_by(fd);
  if (must_be_the_same() && found_ != *reached_) return gone();
  reached_ = found_;
  return {};
}

bool LocalLocator::has_moved() { return reached_ && !reached_->is_behind(socket_); }

}  // namespace rlock::redis
