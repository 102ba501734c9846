#include "stores/zookeeper/zookeeper_store.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/duration.hpp"
#include "lock/lease.hpp"

// Our entry, and what shows that it is ours.
namespace rlock::zookeeper {

using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::fail;
using base::Result;
using base::Wait;
using ordered::Join;
using ordered::Record;
using ordered::View;

namespace {

// A queue is made and goes while we enter it.
constexpr int max_tries = 10;

std::string seconds(Duration duration) { return base::format_duration(duration); }

}  // namespace

ZookeeperStore::ZookeeperStore(Place place, const std::string& wire_key, Duration timeout)
    : place_(std::move(place)), wire_key_(wire_key), queue_(queue_path(wire_key)), session_(place_.ensemble, timeout) {}

// One that others go on with is not ours to end.
ZookeeperStore::~ZookeeperStore() {
  if (!may_be_there_) session_.close();
}

void ZookeeperStore::forget() {
  session_.close();
  own_.reset();
  may_be_there_ = false;
}

std::string ZookeeperStore::encoded(Record record) const {
  record.session = session_.id()->encode();
  return record.encode();
}

Result<void> ZookeeperStore::begin(const Record& record, Wait wait) {
  if (session_.id() && asked_ >= record.ttl) return {};
  session_.close();
  RLOCK_TRY(session_.create(record.ttl, wait));
  asked_ = record.ttl;
  lease_ = session_.id()->timeout;
  if (record.state == Record::State::waits || lease_ == record.ttl) return {};
  auto refused = refusal(record, lease_, wait);
  session_.close();
  return std::unexpected(std::move(refused));
}

base::Error ZookeeperStore::refusal(const Record& record, Duration granted, Wait wait) {
  const bool is_short = granted > record.ttl;
  auto range = seconds(granted);
  Session other(place_.ensemble, session_.timeout());
  if (other.create(is_short ? Duration::max() : Duration(1), wait)) {
    const auto [least, most] = std::minmax(granted, other.id()->timeout);
    range = seconds(least) + " to " + seconds(most);
    other.close();
  }
  return {ErrorCode::usage, "--ttl " + seconds(record.ttl) + " is " + (is_short ? "less" : "more") + " than " + name() +
                                " grants, " + range + "; use --ttl " + seconds(granted) +
                                (is_short ? " or more" : " or less")};
}

// nullopt: the session has ended, this member says.
Result<std::optional<ZookeeperStore::Answers>> ZookeeperStore::open_again(Duration timeout,
                                                                          std::vector<Request> requests, Wait wait) {
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
  RLOCK_TRY(begin(record, wait));
  const bool is_waiter = record.state == Record::State::waits;
  const auto ttl = is_waiter ? session_.id()->timeout : record.ttl;
  std::optional<Answers> answers;
  const bool has_just_begun = session_.is_open() && BootClock::now() < session_.sent_at() + lock::renewal_pause(ttl);
  if (has_just_begun && lease_ == ttl) {
    answers = RLOCK_TRY(session_.flight(requests, wait));
  } else {
    answers = RLOCK_TRY(open_again(ttl, requests, wait));
  }
  if (!answers) session_.forget();
  if (answers && lease_ < ttl) return std::unexpected(grants_less());
  return answers;
}

Result<bool> ZookeeperStore::is_empty(const Record& record, Wait wait) {
  const auto answers = RLOCK_TRY(ask_for_entry(record, {get_children(queue_)}, wait));
  if (!answers) return true;
  lacks_parents_ = answers->front().code == Code::no_node;
  if (lacks_parents_) return true;
  if (answers->front().code != Code::ok) return std::unexpected(session_.error_of(answers->front().code));
  const auto names = read_children(answers->front().body);
  return names && entries_in(*names).empty();
}

Result<ZookeeperStore::MaybeView> ZookeeperStore::enter(const std::string& token, lock::Mode mode, const Record& record,
                                                        Join join, Wait wait) {
  token_ = token;
  mode_ = mode;
  if (join == Join::if_empty && !may_be_there_ && !RLOCK_TRY(is_empty(record, wait))) return std::nullopt;
  for (int tries = 0; tries < max_tries; ++tries) {
    RLOCK_TRY(begin(record, wait));
    auto requests = lacks_parents_ ? parents() : std::vector<Request>();
    const auto above = requests.size();
    requests.push_back(
        create(queue_ + "/" + entry_prefix(token, mode), encoded(record), owner(), Lifetime::ephemeral_sequential));
    requests.push_back(get_children(queue_));
    may_be_there_ = true;
    const auto answers = RLOCK_TRY(ask_for_entry(record, requests, wait));
    if (!answers) continue;
    const auto made = std::span(*answers).first(above);
    const auto code = (*answers)[above].code;
    if (code == Code::ok) return entered((*answers)[above], answers->back(), record, wait);
    may_be_there_ = false;
    if (code != Code::no_node) return std::unexpected(session_.error_of(code));
    if (above > 0) RLOCK_TRY(check_parents(made));
    lacks_parents_ = true;
  }
  return fail(ErrorCode::unready, name() + ": the lock's node goes as soon as it is made; try again");
}

// An earlier try may have made an entry too: the first of this token counts.
Result<ZookeeperStore::MaybeView> ZookeeperStore::entered(const Answer& made, const Answer& children,
                                                          const Record& record, Wait wait) {
  const auto created = read_created(made.body);
  if (!created) return fail(ErrorCode::internal, name() + ": the answer makes no sense");
  tell_time(created->stat.created_ms);
  own_ = EntryName::decode(created->path.substr(created->path.rfind('/') + 1));
  if (!own_) return fail(ErrorCode::internal, name() + ": the answer makes no sense");
  fence_ = static_cast<std::uint64_t>(created->stat.created_in);
  version_ = 0;
  const auto names = read_children(children.body).value_or(std::vector<std::string>());
  const auto entries = entries_in(names);
  const auto first = std::ranges::find(entries, token_, &EntryName::token);
  if (first == entries.end() || first->order >= own_->order) return view_of(children, wait);
  const auto extra = path_of(*own_);
  (void)RLOCK_TRY(session_.flight(std::vector{zookeeper::remove(extra)}, wait));
  if (!RLOCK_TRY(find(token_, wait))) return fail(ErrorCode::unreachable, name() + ": the entry has just gone");
  return confirm(record, wait);
}

base::Error ZookeeperStore::grants_less() const {
  return {ErrorCode::unready, name() + " grants sessions of at most " + seconds(lease_) +
                                  ", and other members more; set maxSessionTimeout alike"};
}

Result<ZookeeperStore::MaybeView> ZookeeperStore::confirm(const Record& asked, Wait wait) {
  if (!own_) return std::nullopt;
  auto record = asked;
  for (int tries = 0; tries < max_tries; ++tries) {
    const auto most = session_.id()->timeout;
    if (record.state == Record::State::waits) record.ttl = most;
    if (record.ttl > most) return move(record, wait);
    const auto answers = RLOCK_TRY(
        open_again(record.ttl, {set_data(path_of(*own_), encoded(record), version_), get_children(queue_)}, wait));
    if (!answers) {
      if (!RLOCK_TRY(has_moved(wait))) return std::nullopt;
      continue;
    }
    switch ((*answers)[0].code) {
      case Code::ok: {
        if (lease_ < record.ttl) return std::unexpected(grants_less());
        const auto stat = read_stat((*answers)[0].body);
        if (!stat) return fail(ErrorCode::internal, name() + ": the answer makes no sense");
        version_ = stat->version;
        tell_time(stat->modified_ms);
        return view_of((*answers)[1], wait);
      }
      case Code::no_node:
      case Code::bad_version:
        if (!RLOCK_TRY(find_again(record, wait))) return std::nullopt;
        break;
      default:
        return std::unexpected(session_.error_of((*answers)[0].code));
    }
  }
  return fail(ErrorCode::unready, name() + ": the entry changes too fast; try again");
}

// A nested run has renewed it or moved it, or an unanswered try of ours has: whoever wrote it counts on its ttl.
// false: it is gone, a majority says.
Result<bool> ZookeeperStore::find_again(Record& record, Wait wait) {
  const auto found = RLOCK_TRY(find(token_, wait));
  if (!found) forget();
  if (found && found->record) record.ttl = std::max(record.ttl, found->record->ttl);
  return found.has_value();
}

// Our session has ended, one member says. false: so our entry is gone, says a majority; true: it has moved to another
// session. A member that was cut off may be wrong.
Result<bool> ZookeeperStore::has_moved(Wait wait) {
  const auto ours = *session_.id();
  session_.forget();
  auto found = find(token_, wait);
  if (!found) session_.take_up(ours);
  if (!RLOCK_TRY(std::move(found))) {
    forget();
    return false;
  }
  if (session_.id()->id != ours.id) return true;
  return fail(ErrorCode::unreachable, name() + " says that the session has ended, and others that it has not");
}

// To a new session. The node has another name, so that nobody who knows the old one takes it for that; its order stays.
Result<ZookeeperStore::MaybeView> ZookeeperStore::move(const Record& record, Wait wait) {
  Session next(place_.ensemble, session_.timeout());
  RLOCK_TRY(next.create(record.ttl, wait));
  auto id = *next.id();
  if (id.timeout != record.ttl) {
    next.close();
    return std::unexpected(refusal(record, id.timeout, wait));
  }
  id.fence = fence_;
  auto moved = record;
  moved.session = id.encode();
  auto to = *own_;
  ++to.moves;
  const std::vector both{zookeeper::remove(path_of(*own_), version_),
                         create(path_of(to), moved.encode(), owner(), Lifetime::ephemeral)};
  const auto answers = RLOCK_TRY(next.flight(std::vector{multi(both), get_children(queue_)}, wait));
  const auto outcome = read_multi(answers[0]);
  if (!outcome) return fail(ErrorCode::internal, name() + ": the answer makes no sense");
  if (outcome->code != Code::ok) {
    next.close();
    if (outcome->failed == 0) return fail(ErrorCode::unreachable, name() + ": the entry changes");
    return std::unexpected(session_.error_of(outcome->code));
  }
  session_.close();
  session_ = std::move(next);
  session_.take_name(id);
  own_ = to;
  version_ = 0;
  asked_ = lease_ = record.ttl;
  watched_at_ = 0;
  auto view = RLOCK_TRY(view_of(answers[1], wait));
  if (const auto rearm = watch_request()) armed(RLOCK_TRY(session_.flight({&*rearm, 1}, wait)).front());
  return view;
}

// Over the connection that stands, or over a new one of our session; nullopt as of open_again().
Result<std::optional<ZookeeperStore::Answers>> ZookeeperStore::ask_as_us(const std::vector<Request>& requests,
                                                                         Wait wait) {
  if (!session_.is_open()) return open_again(lease_, requests, wait);
  return RLOCK_TRY(session_.flight(requests, wait));
}

Result<ZookeeperStore::MaybeView> ZookeeperStore::look(Wait wait) {
  if (!own_) return std::nullopt;
  auto answers = RLOCK_TRY(ask_as_us({get_children(queue_)}, wait));
  if (!answers && !RLOCK_TRY(has_moved(wait))) return std::nullopt;
  if (!answers) answers = RLOCK_TRY(ask({get_children(queue_)}, wait));
  auto view = RLOCK_TRY(view_of(answers->front(), wait));
  if (view) view->sent = {};
  return view;
}

Result<bool> ZookeeperStore::keep(Wait wait) {
  if (!own_) return false;
  const auto answers = RLOCK_TRY(ask_as_us({ping()}, wait));
  if (!answers) return has_moved(wait);
  const auto code = answers->front().code;
  if (code != Code::ok) return std::unexpected(session_.error_of(code));
  return true;
}

Result<ZookeeperStore::MaybeView> ZookeeperStore::view_of(const Answer& children, Wait wait) {
  const auto sent = session_.sent_at();
  if (children.code == Code::no_node) {
    forget();
    return std::nullopt;
  }
  if (children.code != Code::ok) return std::unexpected(session_.error_of(children.code));
  const auto names = read_children(children.body);
  if (!names) return fail(ErrorCode::internal, name() + ": the answer makes no sense");
  auto entries = entries_in(*names);
  known_.clear();
  for (const auto& entry : entries) known_[entry.order] = entry;
  // A member that knows our entry and does not show it has seen it go.
  if (!known_.contains(own_->order)) {
    forget();
    return std::nullopt;
  }
  std::erase_if(entries, [&](const EntryName& entry) { return entry.order >= own_->order; });
  RLOCK_TRY(end_kept(entries, wait));
  View view{.fence = fence_, .ahead = {}, .sent = sent};
  for (const auto& entry : entries) {
    view.ahead.push_back(entry.entry(0));
  }
  return view;
}

// No session ends what is held by --hold: whoever waits behind it does.
Result<void> ZookeeperStore::end_kept(std::vector<EntryName>& ahead, Wait wait) {
  kept_until_ = base::never;
  for (auto entry = ahead.begin(); entry != ahead.end();) {
    const auto look_at = entry++;
    if (!look_at->is_kept) continue;
    const auto answers = RLOCK_TRY(session_.flight(std::vector{get_data(path_of(*look_at))}, wait));
    const auto node = read_node(answers.front().body);
    bool has_gone = answers.front().code == Code::no_node;
    if (node) {
      const auto left = listed(*look_at, *node).ttl_left.value_or(Duration::zero());
      if (left > Duration::zero()) {
        kept_until_ = std::min<base::Instant>(kept_until_, BootClock::now() + left);
      } else {
        const auto ended =
            RLOCK_TRY(session_.flight(std::vector{zookeeper::remove(path_of(*look_at), node->stat.version)}, wait));
        has_gone = ended.front().code == Code::ok || ended.front().code == Code::no_node;
      }
    }
    if (has_gone) entry = ahead.erase(look_at);
  }
  return {};
}

}  // namespace rlock::zookeeper
