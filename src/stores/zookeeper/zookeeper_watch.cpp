#include <algorithm>
#include <utility>

#include "stores/zookeeper/zookeeper_store.hpp"

// What tells that something has changed. A watch tells once, and is then asked for anew; so it is on each new
// connection.
namespace rlock::zookeeper {

using base::BootClock;
using base::ErrorCode;
using base::fail;
using base::Result;
using base::Wait;
using ordered::Changes;
using ordered::Watched;

std::optional<Request> ZookeeperStore::watch_request() const {
  if (!watched_) return std::nullopt;
  if (watched_->whom == Watched::Whom::all) return get_children(watched_path_, Notify::yes);
  return exists(watched_path_, Notify::yes);
}

// The answer to watch_request().
void ZookeeperStore::armed(const Answer& answer) {
  watched_at_ = session_.connection();
  if (answer.code == Code::no_node && watched_->whom != Watched::Whom::all) {
    changes_.gone.push_back(watched_->whom == Watched::Whom::own ? token_ : watched_->entry.token);
    return;
  }
  if (watched_->whom != Watched::Whom::all) return;
  const auto names = read_children(answer.body);
  if (answer.code != Code::ok || !names) {
    changes_.is_unclear = true;
    return;
  }
  auto before = std::exchange(known_, {});
  for (auto& entry : entries_in(*names)) {
    const auto known = before.find(entry.order);
    changes_.is_unclear |= known != before.end() && known->second.has_ended != entry.has_ended;  // it has an end now
    before.erase(entry.order);
    known_[entry.order] = std::move(entry);
  }
  for (const auto& [order, entry] : before) {
    changes_.gone.push_back(entry.token);
    changes_.is_unclear |= entry.token == token_;
  }
}

Result<void> ZookeeperStore::watch(const Watched& watched, Wait wait) {
  if (is_armed() && watched_->is_same(watched)) return {};
  watched_.reset();
  posted_.reset();
  changes_ = {};
  if (!own_) return fail(ErrorCode::unreachable, name() + ": there is no entry to watch from");
  std::string path = queue_;
  if (watched.whom == Watched::Whom::own) path = path_of(*own_);
  if (watched.whom == Watched::Whom::one) {
    const auto known = known_.find(static_cast<std::uint32_t>(watched.entry.order));
    if (known == known_.end()) {
      changes_.is_unclear = true;
    } else {
      path = path_of(known->second);
    }
    // What was written since the last view is not known.
    changes_.is_unclear |= watched.is_of_writes;
  }
  const bool was_open = is_open_as_us();
  watched_path_ = std::move(path);
  watched_ = watched;
  if (!was_open) {
    if (RLOCK_TRY(open_again(lease_, {}, wait))) return {};
    watched_.reset();
    return fail(ErrorCode::unreachable, name() + " says that the session has ended");
  }
  const auto answers = session_.flight(std::vector{*watch_request()}, wait);
  if (!answers) {
    watched_.reset();
    return std::unexpected(answers.error());
  }
  armed(answers->front());
  return {};
}

bool ZookeeperStore::is_armed() const { return watched_ && session_.is_open() && watched_at_ == session_.connection(); }

base::Instant ZookeeperStore::tells_at() const {
  if (session_.has_news() || changes_.is_unclear || !changes_.gone.empty()) return BootClock::now();
  return is_armed() ? hold_ends_ : rests_until_.value_or(BootClock::now());
}

// The connection is lost. Whoever knows a holder's token may just have opened its session, to renew it, and has the
// time to be answered: longer each time, since it may be one who holds as long as we do, and watches too.
bool ZookeeperStore::rests() {
  if (watched_->whom != Watched::Whom::own) return false;
  if (!rests_until_) rests_until_ = BootClock::now() + rests_.next();
  return BootClock::now() < *rests_until_;
}

std::vector<pollfd> ZookeeperStore::wait_fds() const {
  if (!watched_) return {};
  timer_.set(tells_at());
  std::vector<pollfd> fds{{timer_.fd(), POLLIN, 0}};
  if (is_armed()) fds.push_back({session_.fd(), POLLIN, 0});
  return fds;
}

Result<void> ZookeeperStore::hear(const Event& event) {
  if (event.path != watched_path_) return {};
  const bool is_of_all = watched_->whom == Watched::Whom::all;
  if (event.type == Event::Type::changed && watched_->is_of_writes) changes_.is_unclear = true;
  if (event.type == Event::Type::deleted && !is_of_all) {
    changes_.gone.push_back(watched_->whom == Watched::Whom::own ? token_ : watched_->entry.token);
    return {};
  }
  posted_ = RLOCK_TRY(session_.post(*watch_request()));
  return {};
}

Result<Changes> ZookeeperStore::drain() {
  const auto over = [&](base::Error error) {
    watched_.reset();
    posted_.reset();
    rests_until_.reset();
    changes_ = {};
    return std::unexpected(std::move(error));
  };
  if (!watched_) return std::exchange(changes_, {});
  auto news = is_armed() ? session_.drain() : fail(ErrorCode::unreachable, name() + ": the connection broke");
  if (!news && rests()) return std::exchange(changes_, {});
  if (!news) return over(std::move(news).error());
  for (const auto& message : news->answers) {
    if (posted_ != message.number) continue;
    posted_.reset();
    armed(message.answer);
  }
  for (const auto& event : news->events) {
    if (auto heard = hear(event); !heard) return over(std::move(heard).error());
  }
  if (BootClock::now() >= hold_ends_) {
    hold_ends_ = base::never;
    changes_.is_unclear = true;
  }
  return std::exchange(changes_, {});
}

}  // namespace rlock::zookeeper
