#include "stores/redis/holder.hpp"

#include <utility>

namespace rlock::redis {

using base::Result;
using base::Wait;

void Holder::held(lock::Ownership ownership) {
  auto& session = protocol_.session();
  session.pin();
  renewed_ = std::move(ownership);
  renewed_on_ = session.connection();
  renewed_at_ = session.peer();
}

Result<lock::Ownership> Holder::ask(const lock::Request& request, lock::Watch watch, Wait wait) {
  auto& session = protocol_.session();
  const auto before = session.sent_at();
  const bool watches = watches_on_ != 0 && watches_on_ == session.connection();
  if (watch == lock::Watch::no && watches) {
    watches_on_ = 0;
    RLOCK_TRY(protocol_.untrack(wait));
  }
  const bool asks_to_watch = watch == lock::Watch::yes && !watches && !std::exchange(watch_broke_, false);
  auto ownership = asks_to_watch ? protocol_.watch_and_renew(request, wait) : protocol_.renew(request, wait);
  if (asks_to_watch) {
    watches_on_ = ownership ? session.connection() : 0;
    // A proxy may hang up on what it does not know: the next try goes without.
    watch_broke_ = session.is_unanswered(ownership, before);
  }
  return ownership;
}

Result<lock::Ownership> Holder::renew(const lock::Request& request, lock::Watch watch, Wait wait) {
  auto ownership = ask(request, watch, wait);
  // Where several may hold, others who were forgotten may be back already.
  const bool may_be_forgotten =
      ownership && !ownership->is_released &&
      (ownership->holder == lock::Ownership::Holder::nobody ||
       (ownership->holder == lock::Ownership::Holder::other && request.mode.is_for_several()));
  if (may_be_forgotten && renewed_) ownership = reclaim(request, wait, ownership->holder);
  // It was the restart that broke the try before, not the question: ask again.
  const bool was_restarted =
      ownership && renewed_ && !renewed_->run_id.empty() && ownership->run_id != renewed_->run_id;
  if (was_restarted && watch == lock::Watch::yes && watches_on_ != protocol_.session().connection()) {
    if (auto again = protocol_.watch_and_renew(request, wait)) {
      ownership = std::move(again);
      watches_on_ = protocol_.session().connection();
    }
  }
  if (ownership && ownership->holder == lock::Ownership::Holder::us) held(*ownership);
  return ownership;
}

// We do not hold the lock; others may. Without a fence nothing could tell whether somebody has held it meanwhile.
Result<lock::Ownership> Holder::reclaim(const lock::Request& request, Wait wait, lock::Ownership::Holder others) {
  if (renewed_->fence == 0) return lock::Ownership{.holder = others};
  reclaims_ = true;
  const auto& peer = protocol_.session().peer();
  const bool is_other = peer != renewed_at_ && !peer.empty() && !renewed_at_.empty();
  return protocol_.reclaim(request, *renewed_, is_other ? Protocol::Server::other : Protocol::Server::same, wait);
}

void Holder::reclaim_if_forgotten(const lock::Request& request, Wait wait) {
  if (!renewed_ || protocol_.session().connection() == renewed_on_) return;
  const auto ownership = protocol_.renew(request, wait);
  const bool is_ours = ownership && ownership->holder == lock::Ownership::Holder::us;
  const bool is_free = ownership && ownership->holder == lock::Ownership::Holder::nobody;
  if (is_free || (ownership && !is_ours && request.mode.is_for_several())) {
    (void)reclaim(request, wait, ownership->holder);
  }
}

}  // namespace rlock::redis
