#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <utility>

#include "base/text/bounds.hpp"
#include "base/text/text.hpp"
#include "lock/lease.hpp"
#include "stores/zookeeper/zookeeper_store.hpp"

// What others have.
namespace rlock::zookeeper {

using base::BootClock;
using base::Duration;
using base::ErrorCode;
using base::fail;
using base::Result;
using base::Wait;
using ordered::Listed;
using ordered::Queue;
using ordered::Record;

namespace {

// No data has it.
constexpr std::int32_t no_version = std::numeric_limits<std::int32_t>::max();
// Requests in one flight.
constexpr std::size_t max_flight = 500;

// Says nothing of other nodes.
bool is_of_one(Code code) { return code == Code::no_node || code == Code::too_long; }

// The children of a node, of the answer to exists().
std::int64_t count_of(const Answer& answer) {
  const auto stat = answer.code == Code::ok ? read_stat(answer.body) : std::nullopt;
  return stat ? stat->children : 0;
}

std::int64_t local_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

}  // namespace

std::vector<EntryName> entries_in(const std::vector<std::string>& names) {
  std::vector<EntryName> entries;
  for (const auto& name : names) {
    if (auto entry = EntryName::decode(name)) entries.push_back(std::move(*entry));
  }
  std::ranges::sort(entries, {}, &EntryName::order);
  return entries;
}

void ZookeeperStore::heard_time(std::int64_t ms) {
  time_us_ = base::time_us_of(std::chrono::microseconds(base::span_of(ms)).count());
  time_at_ = BootClock::now();
}

// ZooKeeper tells the time of what was written, and we may have written nothing: then it is this machine's.
std::int64_t ZookeeperStore::now_us() const {
  if (time_us_ == 0) return session_.connection() == 0 ? 0 : local_us();
  return time_us_ + std::chrono::duration_cast<std::chrono::microseconds>(BootClock::now() - time_at_).count();
}

base::Error ZookeeperStore::no_root() const {
  const auto& root = address().root;
  const auto above = root.substr(0, root.rfind('/'));
  const auto member = name().substr(name().rfind(' ') + 1);
  const auto first = above.empty() ? "" : ", after " + base::printable(above) + " if there is none";
  return {ErrorCode::configuration, name() + " has no node " + base::printable(root) + "; make it" + first +
                                        ": zkCli.sh -server " + member + " create " + base::shell_word(root)};
}

// Over whatever connection stands, or that of a session for this alone: to open ours would break off what others who
// know our token ask over it.
Result<ZookeeperStore::Answers> ZookeeperStore::ask(const std::vector<Request>& requests, Wait wait) {
  if (session_.is_open()) return session_.flight(requests, wait);
  return session_.create(lock::default_ttl, requests, wait);
}

// A write that is refused: that it is, is decided by the majority, and what is read behind it is as new. So is not what
// `sync` says: a leader that was cut off answers it.
Request ZookeeperStore::decided() const {
  return set_data(wire_key_.empty() ? address().root + "/q" : queue_, "", no_version);
}

Result<void> ZookeeperStore::check_decided(const Answer& answer) {
  const bool is_decided =
      answer.code == Code::bad_version || answer.code == Code::no_node || answer.code == Code::no_auth;
  return is_decided ? Result<void>() : std::unexpected(session_.error_of(answer.code));
}

// What stands above our entry. Each is gone again when nothing is below it; not so a root that was named.
std::vector<Request> ZookeeperStore::parents() const {
  std::vector<Request> requests;
  if (address().has_default_root) requests.push_back(create(address().root, "", owner(), Lifetime::container));
  for (const auto& path : {address().root + "/q", last_runs_path(), shard_path(wire_key_), queue_}) {
    requests.push_back(create(path, "", owner(), Lifetime::container));
  }
  return requests;
}

// Of the answers to parents().
Result<void> ZookeeperStore::check_parents(std::span<const Answer> answers) {
  const auto code = answers.back().code;
  if (code == Code::ok || code == Code::node_exists) return {};
  // Those above it were refused, or there is nothing to make them in.
  for (const auto& answer : answers) {
    if (answer.code == Code::no_auth) return std::unexpected(session_.error_of(answer.code));
  }
  return std::unexpected(code == Code::no_node ? no_root() : session_.error_of(code));
}

Listed ZookeeperStore::listed(const EntryName& name, const Node& node) const {
  Listed listed{.entry = name.entry(node.stat.version),
                .fence = static_cast<std::uint64_t>(node.stat.created_in),
                .record = Record::decode(node.data),
                .ttl_left = std::nullopt};
  if (!listed.record) return listed;
  auto& record = *listed.record;
  const auto us_of = [](std::int64_t ms) { return base::time_us_of(ms / 1'000, ms % 1'000 * 1'000); };
  if (record.state == Record::State::waits || record.since_us == 0) record.since_us = us_of(node.stat.created_ms);
  const auto id = SessionId::decode(record.session);
  if (id && id->fence != 0) listed.fence = id->fence;
  if (record.state == Record::State::waits) return listed;
  const auto age = std::chrono::microseconds(std::max<std::int64_t>(now_us() - us_of(node.stat.modified_ms), 0));
  listed.ttl_left = std::max(record.ttl - std::chrono::duration_cast<Duration>(age), Duration::zero());
  return listed;
}

// An entry that --hold keeps is nobody's any more.
Result<std::optional<Listed>> ZookeeperStore::find(const std::string& token, Wait wait) {
  token_ = token;
  const auto is_it = [&](const EntryName& entry) { return entry.token == token && !entry.has_ended; };
  for (int tries = 0; tries < max_tries; ++tries) {
    const auto answers = RLOCK_TRY(ask({decided(), get_children(queue_)}, wait));
    RLOCK_TRY(check_decided(answers.front()));
    const auto& children = answers.back();
    if (children.code == Code::no_node) return std::nullopt;
    const auto names = children.code == Code::ok ? read_children(children.body) : std::nullopt;
    if (!names) return std::unexpected(session_.error_of(children.code));
    const auto entries = entries_in(*names);
    const auto entry = std::ranges::find_if(entries, is_it);
    if (entry == entries.end()) return std::nullopt;
    const auto read = RLOCK_TRY(ask({get_data(path_of(*entry))}, wait)).front();
    if (read.code == Code::no_node) continue;  // another process may have moved it between the two flights
    const auto node = read.code == Code::ok ? read_node(read.body) : std::nullopt;
    if (!node) return std::unexpected(session_.error_of(read.code));
    return adopt(*entry, *node);
  }
  return fail(ErrorCode::unready, name() + ": the entry changes too fast; try again");
}

// nullopt: it is not one that a session can go on with.
std::optional<Listed> ZookeeperStore::adopt(const EntryName& entry, const Node& node) {
  auto found = listed(entry, node);
  auto id = found.record ? SessionId::decode(found.record->session) : std::nullopt;
  if (!id) return std::nullopt;
  own_ = entry;
  mode_ = entry.mode;
  if (fence_ != found.fence) held_behind_.reset();
  fence_ = found.fence;
  version_ = node.stat.version;
  may_be_there_ = true;
  lasts_until_ = std::max<base::Instant>(lasts_until_, BootClock::now() + found.ttl_left.value_or(Duration::zero()));
  if (own_session_ && own_session_->id == id->id) return found;
  if (is_open_as_us()) session_.close();  // nobody lives by it any more
  asked_ = id->timeout;
  lease_ = std::min(found.record->ttl, id->timeout);
  own_session_ = std::move(id);
  return found;
}

Result<Queue> ZookeeperStore::queue_of(const std::string& wire_key, const Answer& children, const Answer& last_run,
                                       std::int64_t most, Wait wait) {
  Queue queue;
  if (last_run.code == Code::ok) {
    if (const auto node = read_node(last_run.body)) queue.last_run = last_run_in(*node);
  }
  for (const auto code : {children.code, last_run.code}) {
    if (code != Code::ok && !is_of_one(code)) return std::unexpected(session_.error_of(code));
  }
  if (children.code == Code::no_node) return queue;
  if (most == 0) {
    queue.size = count_of(children);
    return queue;
  }
  const auto path = queue_path(wire_key);
  if (children.code == Code::too_long) {
    queue.size = count_of(RLOCK_TRY(ask({exists(path)}, wait)).front());
    queue.unread = session_.error_of(children.code);
    return queue;
  }
  const auto names = read_children(children.body);
  if (!names) return fail(ErrorCode::internal, name() + ": the answer makes no sense");
  const auto entries = entries_in(*names);
  queue.size = std::ssize(entries);
  for (std::size_t from = 0; from < entries.size() && std::ssize(queue.first) < most; from += max_flight) {
    const auto left = static_cast<std::size_t>(most - std::ssize(queue.first));
    const auto count = std::min({max_flight, left, entries.size() - from});
    RLOCK_TRY(read_entries(path + "/", std::span(entries).subspan(from, count), queue, wait));
  }
  return queue;
}

Result<void> ZookeeperStore::read_entries(const std::string& above, std::span<const EntryName> entries, Queue& queue,
                                          Wait wait) {
  std::vector<Request> requests;
  for (const auto& entry : entries) requests.push_back(get_data(above + entry.encode()));
  const auto answers = RLOCK_TRY(ask(requests, wait));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto code = answers[i].code;
    if (code != Code::ok && code != Code::no_auth && !is_of_one(code)) return std::unexpected(session_.error_of(code));
    const auto node = code == Code::ok ? read_node(answers[i].body) : std::nullopt;
    // What nobody can read stands there all the same.
    auto seen = listed(entries[i], node.value_or(Node()));
    const bool is_over = entries[i].has_ended && seen.ttl_left.value_or(Duration(0)) <= Duration(0);
    if (code == Code::no_node || is_over) {
      --queue.size;  // it has gone meanwhile
    } else {
      queue.first.push_back(std::move(seen));
    }
  }
  return {};
}

// How long a lease lasts follows from the times of its node.
Result<std::vector<Queue>> ZookeeperStore::read(std::span<const std::string> wire_keys, std::int64_t most,
                                                ordered::TimesLeft times, Wait wait) {
  std::vector<Queue> queues;
  while (!wire_keys.empty()) {
    const auto part = wire_keys.first(std::min(wire_keys.size(), max_flight));
    wire_keys = wire_keys.subspan(part.size());
    // A waiter decides nothing by what it reads.
    const bool is_to_tell = times == ordered::TimesLeft::yes;
    std::vector<Request> requests{is_to_tell ? decided() : sync(queue_),
                                  exists(address().root.empty() ? "/" : address().root)};
    for (const auto& key : part) {
      requests.push_back(most > 0 ? get_children(queue_path(key)) : exists(queue_path(key)));
      requests.push_back(get_data(last_run_path(key)));
    }
    const auto answers = RLOCK_TRY(ask(requests, wait));
    if (is_to_tell) RLOCK_TRY(check_decided(answers[0]));
    if (answers[1].code == Code::no_node && !address().has_default_root) return std::unexpected(no_root());
    for (std::size_t i = 0; i < part.size(); ++i) {
      queues.push_back(RLOCK_TRY(queue_of(part[i], answers[2 * i + 2], answers[2 * i + 3], most, wait)));
    }
  }
  return queues;
}

// What is below one of the two nodes; a queue that nobody is in is left out.
Result<std::vector<std::string>> ZookeeperStore::children_of(const std::string& path, Wait wait) {
  const auto root = address().root.empty() ? "/" : address().root;
  const auto answers = RLOCK_TRY(ask({decided(), exists(root), get_children(path)}, wait));
  RLOCK_TRY(check_decided(answers[0]));
  if (answers[1].code == Code::no_node && !address().has_default_root) return std::unexpected(no_root());
  const auto code = answers.back().code;
  if (code == Code::no_node) return std::vector<std::string>();
  auto names = code == Code::ok ? read_children(answers.back().body) : std::nullopt;
  if (!names) return std::unexpected(session_.error_of(code));
  return std::move(*names);
}

Result<std::vector<std::string>> ZookeeperStore::list(const std::string& prefix, Wait wait) {
  std::set<std::string> keys;
  const auto add = [&](const std::string& name) {
    auto key = key_of(name);
    if (key && key->starts_with(prefix)) keys.insert(std::move(*key));
  };
  std::ranges::for_each(RLOCK_TRY(last_runs(wait)), add);
  const auto queues = RLOCK_TRY(children_of(address().root + "/q", wait));
  for (auto left = std::span(queues); !left.empty();) {
    const auto part = left.first(std::min(left.size(), max_flight));
    left = left.subspan(part.size());
    std::vector<Request> requests;
    for (const auto& name : part) requests.push_back(exists(address().root + "/q/" + name));
    const auto answers = RLOCK_TRY(ask(requests, wait));
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (count_of(answers[i]) > 0) add(part[i]);
    }
  }
  return std::vector<std::string>(keys.begin(), keys.end());
}

}  // namespace rlock::zookeeper
