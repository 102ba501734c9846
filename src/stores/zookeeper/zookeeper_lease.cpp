#include <algorithm>
#include <utility>

#include "base/text/duration.hpp"
#include "lock/lease.hpp"
#include "stores/zookeeper/zookeeper_store.hpp"

// The session that our entry lives by, and how the entry comes to another.
namespace rlock::zookeeper {

using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::fail;
using base::Result;
using base::Wait;
using ordered::Record;

namespace {

// By which the session of an earlier try may outlast what is asked for.
constexpr Duration max_surplus{1'000};

std::string seconds(Duration duration) { return base::format_duration(duration); }

}  // namespace

// A session for an entry. The reads travel with its making; no answers: there was one already.
Result<ZookeeperStore::Answers> ZookeeperStore::begin(const Record& record, const std::vector<Request>& reads,
                                                      Wait wait) {
  if (own_session_ && asked_ >= record.ttl) return Answers();
  session_.close();
  own_session_.reset();
  auto answers = RLOCK_TRY(session_.create(record.ttl, reads, wait));
  own_session_ = session_.id();
  asked_ = record.ttl;
  lease_ = own_session_->timeout;
  if (record.state == Record::State::waits || lease_ == record.ttl) return answers;
  auto refused = refusal(record, lease_, wait);
  session_.close();
  own_session_.reset();
  return std::unexpected(std::move(refused));
}

base::Error ZookeeperStore::refusal(const Record& record, Duration granted, Wait wait) {
  const bool is_short = granted > record.ttl;
  auto range = seconds(granted);
  std::string_view others = is_short ? " or more" : " or less";
  Session other(session_.address(), session_.timeout());
  if (other.create(is_short ? Duration::max() : Duration(1), {}, wait)) {
    const auto [least, most] = std::minmax(granted, other.id()->timeout);
    if (least == most) others = "";
    if (least < most) range = seconds(least) + " to " + seconds(most);
    other.close();
  }
  return {ErrorCode::usage, "--ttl " + seconds(record.ttl) + " is " + (is_short ? "less" : "more") + " than " + name() +
                                " grants, " + range + "; use --ttl " + seconds(granted) + std::string(others)};
}

bool ZookeeperStore::is_open_as_us() const {
  return session_.is_open() && own_session_ && session_.id()->id == own_session_->id;
}

// nullopt: the session has ended, this member says.
Result<std::optional<ZookeeperStore::Answers>> ZookeeperStore::open_again(Duration timeout,
                                                                          std::vector<Request> requests, Wait wait) {
  if (!is_open_as_us()) {
    session_.close();
    session_.take_up(*own_session_);
  }
  const auto rearm = watch_request();
  if (rearm) requests.push_back(*rearm);
  auto reopened = RLOCK_TRY(session_.reopen(timeout, requests, wait));
  if (reopened.is_expired) return std::nullopt;
  lease_ = reopened.granted;
  if (rearm) {
    armed(reopened.answers.back());
    reopened.answers.pop_back();
  }
  return std::move(reopened.answers);
}

// Behind a session that lasts for the record's ttl from now on.
Result<std::optional<ZookeeperStore::Answers>> ZookeeperStore::ask_for_entry(const Record& record,
                                                                             const std::vector<Request>& requests,
                                                                             Wait wait) {
  RLOCK_TRY(begin(record, {}, wait));
  const bool is_waiter = record.state == Record::State::waits;
  const auto ttl = is_waiter ? own_session_->timeout : record.ttl;
  std::optional<Answers> answers;
  const bool has_just_begun = is_open_as_us() && BootClock::now() < session_.sent_at() + lock::renewal_pause(ttl);
  if (has_just_begun && lease_ == ttl) {
    answers = RLOCK_TRY(session_.flight(requests, wait));
  } else {
    answers = RLOCK_TRY(open_again(ttl, requests, wait));
  }
  if (!answers) own_session_.reset();
  if (answers && lease_ < ttl) return std::unexpected(grants_less());
  return answers;
}

base::Error ZookeeperStore::grants_less() const {
  return {ErrorCode::unready, name() + " grants sessions of at most " + seconds(lease_) +
                                  ", and other members more; set the same maxSessionTimeout on all"};
}

// A nested run has renewed it or moved it, or an unanswered try of ours has. false: it is gone, a majority says.
Result<bool> ZookeeperStore::find_again(Wait wait) {
  const auto found = RLOCK_TRY(find(token_, wait));
  if (!found) forget();
  return found.has_value();
}

// Our session has ended, one member says. false: so our entry is gone, says a majority; true: it has moved to another
// session. A member that was cut off may be wrong.
Result<bool> ZookeeperStore::has_moved(Wait wait) {
  const auto ours = own_session_->id;
  if (!RLOCK_TRY(find_again(wait))) return false;
  if (own_session_->id != ours) return true;
  return fail(ErrorCode::unreachable, name() + " says that the session has ended, and others that it has not");
}

// One for our entry to come to, which lasts for the ttl of the record, or a little longer.
Result<Session> ZookeeperStore::session_for(Record& record, Wait wait) {
  const bool is_of_last_try = session_.is_open() && !is_open_as_us() && session_.id()->timeout >= record.ttl &&
                              session_.id()->timeout < record.ttl + max_surplus;
  Session next =
      is_of_last_try ? std::exchange(session_, Session(address(), timeout())) : Session(address(), timeout());
  if (!is_of_last_try) RLOCK_TRY(next.create(record.ttl, {}, wait));
  const auto granted = next.id()->timeout;
  if (granted < record.ttl) {
    next.close();
    return std::unexpected(refusal(record, granted, wait));
  }
  record.ttl = granted;
  return next;
}

// To another session. The node has another name, so that nobody who knows the old one takes it for that; its order
// stays. nullopt: it is gone, or has changed.
Result<ZookeeperStore::MaybeView> ZookeeperStore::move(const Record& record, Wait wait) {
  auto moved = record;
  watched_at_ = 0;
  auto next = RLOCK_TRY(session_for(moved, wait));
  auto id = *next.id();
  id.fence = fence_;
  moved.session = id.encode();
  auto to = *own_;
  ++to.moves;
  const std::vector both{zookeeper::remove(path_of(*own_), version_),
                         create(path_of(to), moved.encode(), owner(), Lifetime::ephemeral)};
  const auto answers = RLOCK_TRY(next.flight(with_queue(multi(both)), wait));
  const auto outcome = read_multi(answers[0]);
  if (!outcome) return fail(ErrorCode::internal, name() + ": the answer makes no sense");
  const bool is_done = outcome->code == Code::ok;
  if (is_done || !session_.is_open()) {
    session_.close();
    session_ = std::move(next);
  } else {
    next.close();
  }
  if (!is_done && outcome->failed == 0) return std::nullopt;
  if (!is_done) return std::unexpected(session_.error_of(outcome->code));
  own_session_ = id;
  own_ = to;
  version_ = 0;
  asked_ = lease_ = moved.ttl;
  is_open_elsewhere_ = false;
  auto view = RLOCK_TRY(proven(answers, wait));
  if (const auto rearm = watch_request()) armed(RLOCK_TRY(session_.flight({&*rearm, 1}, wait)).front());
  return view;
}

}  // namespace rlock::zookeeper
