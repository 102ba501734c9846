#include "stores/zookeeper/zookeeper_store.hpp"

#include <algorithm>
#include <utility>

#include "lock/lease.hpp"
#include "stores/ordered/turn.hpp"

// Our entry, and what shows that it is ours.
namespace rlock::zookeeper {

using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::fail;
using base::Result;
using base::Wait;
using ordered::Entry;
using ordered::Join;
using ordered::Record;
using ordered::View;

ZookeeperStore::ZookeeperStore(const Address& address, const std::string& wire_key, Duration timeout)
    : session_(address, timeout), wire_key_(wire_key), queue_(queue_path(wire_key)) {}

// One that others go on with is not ours to end.
ZookeeperStore::~ZookeeperStore() {
  if (!may_be_there_ || !is_open_as_us()) session_.close();
}

void ZookeeperStore::forget() {
  session_.close();
  own_session_.reset();
  own_.reset();
  held_behind_.reset();
  may_be_there_ = false;
  lasts_until_ = {};
}

std::string ZookeeperStore::encoded(Record record) const {
  record.session = own_session_->encode();
  return record.encode();
}

Result<bool> ZookeeperStore::is_empty(const Record& record, Wait wait) {
  const std::vector look{get_children(queue_)};
  auto answers = std::optional(RLOCK_TRY(begin(record, look, wait)));
  if (answers->empty()) answers = RLOCK_TRY(ask_for_entry(record, look, wait));
  if (!answers) return true;
  const auto& children = answers->front();
  lacks_parents_ = children.code == Code::no_node;
  if (lacks_parents_) return true;
  if (children.code != Code::ok) return std::unexpected(session_.error_of(children.code));
  const auto names = read_children(children.body);
  if (!names) return fail(ErrorCode::internal, name() + ": the answer makes no sense");
  auto entries = entries_in(*names);
  RLOCK_TRY(end_holds(entries, wait));
  return entries.empty();
}

Result<ZookeeperStore::MaybeView> ZookeeperStore::enter(const std::string& token, lock::Mode mode, const Record& record,
                                                        Join join, Wait wait) {
  token_ = token;
  mode_ = mode;
  if (join == Join::if_empty && !may_be_there_ && !RLOCK_TRY(is_empty(record, wait))) return std::nullopt;
  for (int tries = 0; tries < max_tries; ++tries) {
    RLOCK_TRY(begin(record, {}, wait));
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
  return fail(ErrorCode::unready, name() + ": the lock's node is removed as soon as it is made; try again");
}

// An earlier try may have made an entry too: the first of this token counts.
Result<ZookeeperStore::MaybeView> ZookeeperStore::entered(const Answer& made, const Answer& children,
                                                          const Record& record, Wait wait) {
  const auto created = read_created(made.body);
  if (!created) return fail(ErrorCode::internal, name() + ": the answer makes no sense");
  heard_time(created->stat.created_ms);
  own_ = EntryName::decode(created->path.substr(created->path.rfind('/') + 1));
  if (!own_) return fail(ErrorCode::internal, name() + ": the answer makes no sense");
  fence_ = static_cast<std::uint64_t>(created->stat.created_in);
  version_ = 0;
  held_behind_.reset();
  if (children.code == Code::too_long) {
    // Nobody could wait in a queue that cannot be read, and each try would make one entry more.
    auto error = session_.error_of(children.code);
    forget();
    return std::unexpected(std::move(error));
  }
  const auto names = read_children(children.body).value_or(std::vector<std::string>());
  const auto entries = entries_in(names);
  const auto first = std::ranges::find(entries, token_, &EntryName::token);
  if (first == entries.end() || first->order >= own_->order) return proven({&children, 1}, wait);
  const auto extra = path_of(*own_);
  (void)RLOCK_TRY(session_.flight(std::vector{zookeeper::remove(extra)}, wait));
  if (!RLOCK_TRY(find(token_, wait))) return fail(ErrorCode::unreachable, name() + ": the entry has just been removed");
  return confirm(record, wait);
}

Result<ZookeeperStore::MaybeView> ZookeeperStore::confirm(const Record& asked, Wait wait) {
  if (!own_) return std::nullopt;
  auto record = asked;
  for (int tries = 0; tries < max_tries; ++tries) {
    const auto most = own_session_->timeout;
    record.ttl = record.state == Record::State::waits ? most : ordered::at_least(asked.ttl, lasts_until_);
    if (record.ttl > most || is_open_elsewhere_) {
      if (auto moved = RLOCK_TRY(move(record, wait))) return moved;
      if (!own_ || !RLOCK_TRY(find_again(wait))) return std::nullopt;
      continue;
    }
    auto opened = open_again(record.ttl, with_queue(set_data(path_of(*own_), encoded(record), version_)), wait);
    is_open_elsewhere_ = session_.was_cut();
    if (is_open_elsewhere_) continue;
    const auto answers = RLOCK_TRY(std::move(opened));
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
        heard_time(stat->modified_ms);
        return proven(*answers, wait);
      }
      case Code::no_node:
      case Code::bad_version:
        if (!RLOCK_TRY(find_again(wait))) return std::nullopt;
        break;
      case Code::session_moved:
        is_open_elsewhere_ = true;
        break;
      default:
        return std::unexpected(session_.error_of((*answers)[0].code));
    }
  }
  return fail(ErrorCode::unready, name() + ": the entry changes too fast; try again");
}

// Over the connection that stands, or over a new one of our session; nullopt as of open_again().
Result<std::optional<ZookeeperStore::Answers>> ZookeeperStore::ask_as_us(const std::vector<Request>& requests,
                                                                         Wait wait) {
  if (!is_open_as_us()) return open_again(lease_, requests, wait);
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

// An entry may have moved to another node, and the member that is asked reads what it has itself: a look costs no more.
Result<bool> ZookeeperStore::stand(std::span<const Entry> entries, Wait wait) {
  const auto view = RLOCK_TRY(look(wait));
  if (!view) return false;
  return std::ranges::all_of(entries, [&](const Entry& entry) {
    return std::ranges::find(view->ahead, entry.order, &Entry::order) != view->ahead.end();
  });
}

Result<bool> ZookeeperStore::keep_alive(Wait wait) {
  if (!own_) return false;
  const auto answers = RLOCK_TRY(ask_as_us({ping()}, wait));
  if (!answers) return has_moved(wait);
  const auto code = answers->front().code;
  if (code != Code::ok) return std::unexpected(session_.error_of(code));
  return true;
}

// The request, and what shows who is ahead of us. Once a proof has shown that we hold, we need not know who else is
// there: those ahead only go, and whoever comes is behind. So a long queue costs a holder nothing, and one that cannot
// be read no lease.
std::vector<Request> ZookeeperStore::with_queue(Request request) const {
  std::vector requests{std::move(request)};
  if (!held_behind_) requests.push_back(get_children(queue_));
  return requests;
}

// Of the answers to with_queue(), where the request was decided by the majority.
Result<ZookeeperStore::MaybeView> ZookeeperStore::proven(std::span<const Answer> answers, Wait wait) {
  if (held_behind_) return View{.fence = fence_, .ahead = *held_behind_, .sent = session_.sent_at()};
  auto view = RLOCK_TRY(view_of(answers.back(), wait));
  if (view && ordered::holds(mode_, view->ahead)) held_behind_ = view->ahead;
  return view;
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
  RLOCK_TRY(end_holds(entries, wait));
  View view{.fence = fence_, .ahead = {}, .sent = sent};
  for (const auto& entry : entries) {
    view.ahead.push_back(entry.entry(0));
  }
  return view;
}

// No session ends what is held by --hold: whoever waits behind it does.
Result<void> ZookeeperStore::end_holds(std::vector<EntryName>& ahead, Wait wait) {
  hold_ends_ = base::never;
  for (auto entry = ahead.begin(); entry != ahead.end();) {
    const auto look_at = entry++;
    if (!look_at->has_ended) continue;
    const auto answers = RLOCK_TRY(session_.flight(std::vector{get_data(path_of(*look_at))}, wait));
    const auto node = read_node(answers.front().body);
    bool has_gone = answers.front().code == Code::no_node;
    if (node) {
      const auto left = listed(*look_at, *node).ttl_left.value_or(Duration::zero());
      if (left > Duration::zero()) {
        hold_ends_ = std::min<base::Instant>(hold_ends_, BootClock::now() + left);
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
