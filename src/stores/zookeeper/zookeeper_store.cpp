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
// No data has it: a write of it is decided by the majority, and changes nothing.
constexpr std::int32_t no_version = std::numeric_limits<std::int32_t>::max();
// What a session has lost of its lease before it need be opened again.
constexpr Duration just_now{500};

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

// A session for this record. It is made for so long as a lease may become: it cannot be made longer, only be opened
// for less.
Result<void> ZookeeperStore::begin(const Record& record, Wait wait) {
  const auto wanted = std::max(record.ttl, lock::default_ttl);
  if (session_.id() && asked_ >= wanted) return {};
  session_.close();
  RLOCK_TRY(session_.create(wanted, wait));
  asked_ = wanted;
  lease_ = session_.id()->timeout;
  return {};
}

base::Error ZookeeperStore::refusal(const Record& record, Duration granted, Wait wait) {
  std::string range = (granted > record.ttl ? "no less than " : "no more than ") + seconds(granted);
  Session other(place_.ensemble, session_.timeout());
  const auto bound = granted > record.ttl ? Duration(std::numeric_limits<std::int32_t>::max()) : Duration(1);
  if (other.create(bound, wait)) {
    const auto [least, most] = std::minmax(granted, other.id()->timeout);
    range = seconds(least) + " to " + seconds(most);
    other.close();
  }
  return {ErrorCode::usage, "--ttl " + seconds(record.ttl) + ": " + name() + " grants sessions of " + range +
                                "; use --ttl " + seconds(granted)};
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
  const auto most = session_.id()->timeout;
  if (most < record.ttl && !is_waiter) return std::unexpected(refusal(record, most, wait));
  const auto ttl = is_waiter ? most : record.ttl;
  std::optional<Answers> answers;
  const bool has_just_begun = session_.is_open() && BootClock::now() < session_.sent_at() + just_now;
  if (has_just_begun && lease_ == ttl) {
    answers = RLOCK_TRY(session_.flight(requests, wait));
  } else {
    answers = RLOCK_TRY(open_again(ttl, requests, wait));
  }
  if (!answers) session_.close();
  if (answers && lease_ > ttl && !is_waiter) return std::unexpected(refusal(record, lease_, wait));
  return answers;
}

Result<bool> ZookeeperStore::is_empty(const Record& record, Wait wait) {
  const auto answers = RLOCK_TRY(ask_for_entry(record, {get_children(queue_)}, wait));
  if (!answers || answers->front().code == Code::no_node) return true;
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
    const std::vector<Request> requests{
        create(queue_ + "/" + entry_prefix(token, mode), encoded(record), owner(), Lifetime::ephemeral_sequential),
        get_children(queue_)};
    may_be_there_ = true;
    auto answers = ask_for_entry(record, requests, wait);
    if (!answers && answers.error().code == ErrorCode::usage) forget();
    if (!answers) return std::unexpected(std::move(answers).error());
    if (!*answers) continue;
    const auto code = (*answers)->front().code;
    if (code == Code::ok) return entered(**answers, record, wait);
    may_be_there_ = false;
    if (code != Code::no_node) return std::unexpected(session_.error_of(code));
    RLOCK_TRY(make_parents(wait));
  }
  return fail(ErrorCode::unready, name() + ": the lock's node goes as soon as it is made; try again");
}

// An earlier try may have made an entry too: the first of this token counts.
Result<ZookeeperStore::MaybeView> ZookeeperStore::entered(const Answers& answers, const Record& record, Wait wait) {
  const auto created = read_created(answers[0].body);
  if (!created) return fail(ErrorCode::internal, name() + ": the answer makes no sense");
  tell_time(created->stat.created_ms);
  own_ = EntryName::decode(created->path.substr(created->path.rfind('/') + 1));
  if (!own_) return fail(ErrorCode::internal, name() + ": the answer makes no sense");
  fence_ = static_cast<std::uint64_t>(created->stat.created_in);
  version_ = 0;
  const auto names = read_children(answers[1].body).value_or(std::vector<std::string>());
  const auto entries = entries_in(names);
  const auto first = std::ranges::find(entries, token_, &EntryName::token);
  if (first == entries.end() || first->order >= own_->order) return view_of(answers[1], wait);
  const auto extra = path_of(*own_);
  (void)RLOCK_TRY(session_.flight(std::vector{zookeeper::remove(extra)}, wait));
  if (!RLOCK_TRY(find(token_, wait))) return fail(ErrorCode::unreachable, name() + ": the entry has just gone");
  return confirm(record, wait);
}

Result<ZookeeperStore::MaybeView> ZookeeperStore::confirm(const Record& asked, Wait wait) {
  if (!own_ || own_->is_kept || !session_.id()) return std::nullopt;
  auto record = asked;
  const auto most = session_.id()->timeout;
  if (record.state == Record::State::waits) record.ttl = most;
  if (record.ttl > most) {
    return fail(ErrorCode::usage, "--ttl " + seconds(record.ttl) +
                                      ": ZooKeeper cannot make a session longer than the " + seconds(most) +
                                      " that it was made for; use --ttl " + seconds(most) +
                                      " or less, or acquire the lock with a longer one");
  }
  for (int tries = 0; tries < max_tries; ++tries) {
    const auto path = path_of(*own_);
    const auto answers = RLOCK_TRY(open_again(
        record.ttl, {set_data(path, encoded(record), version_), get_data(path), get_children(queue_)}, wait));
    if (!answers) return gone_or_unknown(wait);
    const auto node = read_node((*answers)[1].body);
    switch ((*answers)[0].code) {
      case Code::ok: {
        if (lease_ < record.ttl) {
          return fail(ErrorCode::unready, name() + " grants sessions of at most " + seconds(lease_) +
                                              ", and other members more; set maxSessionTimeout alike");
        }
        const auto stat = read_stat((*answers)[0].body);
        version_ = stat ? stat->version : version_;
        if (stat) tell_time(stat->modified_ms);
        return view_of((*answers)[2], wait);
      }
      case Code::no_node:
        forget();
        return std::nullopt;
      case Code::bad_version: {
        // A nested run has renewed it, or an unanswered try of ours: whoever wrote it counts on its ttl.
        if (!node) return fail(ErrorCode::unreachable, name() + ": the entry changes");
        version_ = node->stat.version;
        const auto theirs = Record::decode(node->data);
        if (theirs) record.ttl = std::clamp(theirs->ttl, record.ttl, most);
        break;
      }
      default:
        return std::unexpected(session_.error_of((*answers)[0].code));
    }
  }
  return fail(ErrorCode::unready, name() + ": the entry changes too fast; try again");
}

Result<bool> ZookeeperStore::is_gone(Wait wait) {
  Session other(place_.ensemble, session_.timeout());
  RLOCK_TRY(other.create(lock::default_ttl, wait));
  const auto answers = RLOCK_TRY(other.flight(std::vector{set_data(path_of(*own_), "", no_version)}, wait));
  const auto code = answers.front().code;
  if (code != Code::no_node && code != Code::bad_version) return std::unexpected(other.error_of(code));
  other.close();
  return code == Code::no_node;
}

// A member that was cut off may say that the session has ended when it has not: a majority is asked.
Result<ZookeeperStore::MaybeView> ZookeeperStore::gone_or_unknown(Wait wait) {
  if (!RLOCK_TRY(is_gone(wait))) {
    return fail(ErrorCode::unreachable, name() + " says that the session has ended, and others that it has not");
  }
  forget();
  return std::nullopt;
}

// Over the connection that stands, or over a new one of our session; nullopt as of open_again().
Result<std::optional<ZookeeperStore::Answers>> ZookeeperStore::ask_as_us(const std::vector<Request>& requests,
                                                                         Wait wait) {
  if (!session_.is_open()) return open_again(lease_, requests, wait);
  return RLOCK_TRY(session_.flight(requests, wait));
}

Result<ZookeeperStore::MaybeView> ZookeeperStore::look(Wait wait) {
  if (!own_ || !session_.id()) return std::nullopt;
  const auto answers = RLOCK_TRY(ask_as_us({get_children(queue_)}, wait));
  if (!answers) return gone_or_unknown(wait);
  auto view = RLOCK_TRY(view_of(answers->front(), wait));
  if (view) view->sent = {};
  return view;
}

Result<bool> ZookeeperStore::keep(Wait wait) {
  if (!own_ || !session_.id()) return false;
  const auto answers = RLOCK_TRY(ask_as_us({ping()}, wait));
  if (!answers) return RLOCK_TRY(gone_or_unknown(wait)).has_value();
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
    view.ahead.push_back({entry.order, entry.token, entry.mode, version_of(0, entry.is_kept)});
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
