// What EtcdStore tells of entries: by a watch, and by reads.
#include <algorithm>
#include <set>
#include <utility>

#include "stores/etcd/etcd_store.hpp"
#include "stores/ordered/turn.hpp"

namespace rlock::etcd {

using base::ErrorCode;
using base::Result;
using base::Wait;
using ordered::Changes;
using ordered::Entry;
using ordered::Listed;
using ordered::Queue;
using ordered::TimesLeft;
using ordered::Watched;
using Whom = Watched::Whom;

namespace {

// Locks in one transaction, which is one answer: a status may ask for thousands of entries of each.
constexpr std::size_t max_read = 8;
// Transactions in one flight.
constexpr std::size_t max_flight = 8;
constexpr std::int64_t max_page = 1'000;

// Of each lock two steps: its entries, and its last run.
Call read_of(const Keys& keys, std::span<const std::string> wire_keys, std::int64_t most) {
  std::vector<nlohmann::json> steps;
  for (const auto& key : wire_keys) {
    // A limit of 0 is none to etcd.
    steps.push_back(first_in(keys.queue(key), std::max<std::int64_t>(most, 1)));
    steps.push_back(get(keys.last_run(key)));
  }
  return transaction({}, std::move(steps));
}

}  // namespace

// The name is the key: one that somebody has put by hand is not what token and mode come to.
Entry EtcdStore::to_entry(const KeyValue& entry) {
  auto [token, mode] = read_entry_name(entry.key);
  return {entry.created, std::move(token), mode, entry.version, entry.key};
}

Listed EtcdStore::to_listed(const KeyValue& entry) {
  Listed listed;
  listed.entry = to_entry(entry);
  listed.fence = entry.created;
  listed.record = ordered::Record::decode(entry.value);
  return listed;
}

Result<void> EtcdStore::watch(const Watched& watched, Wait wait) {
  if (watched_ && watched_->is_same(watched)) return {};
  watched_.reset();
  const auto writes = watched.is_of_writes ? Writes::yes : Writes::no;
  const auto from = revision_ + 1;
  const auto& key = watched.whom == Whom::own ? key_ : watched.entry.name;
  RLOCK_TRY(gateway_.client().stream(
      watched.whom == Whom::all ? etcd::watch(queue_, from, writes) : etcd::watch(key, from, writes), wait));
  watched_ = watched;
  return {};
}

Result<Changes> EtcdStore::drain() {
  auto messages = gateway_.client().drain();
  if (!messages) watched_.reset();
  Changes changes;
  for (const auto& message : RLOCK_TRY(std::move(messages))) {
    const auto news = read_news(message);
    if (!news || !news->ended.empty()) watched_.reset();
    if (!news) return std::unexpected(gateway_.senseless());
    if (!news->ended.empty()) return base::fail(ErrorCode::unready, name() + " has ended a watch: " + news->ended);
    for (const auto& key : news->gone) changes.gone.push_back(read_entry_name(key).token);
    changes.is_unclear |= news->has_writes || news->is_compacted;
    // One that has ended, or whose entry has, tells nothing more.
    const bool is_over = news->is_compacted || (!news->gone.empty() && watched_ && watched_->whom != Whom::all);
    if (is_over) watched_.reset();
  }
  return changes;
}

Result<std::vector<Queue>> EtcdStore::read(std::span<const std::string> wire_keys, std::int64_t most, TimesLeft times,
                                           Wait wait) {
  std::vector<Queue> queues;
  std::vector<Held> held;
  while (queues.size() < wire_keys.size()) {
    const auto rest = wire_keys.subspan(queues.size());
    RLOCK_TRY(read_some(rest.first(std::min(rest.size(), max_flight * max_read)), most, queues, held, wait));
  }
  if (times == TimesLeft::no) return queues;
  std::vector<LeaseId> leases;
  leases.reserve(held.size());
  for (const auto& holder : held) leases.push_back(holder.lease);
  const auto left = RLOCK_TRY(gateway_.times_left(leases, wait));
  for (std::size_t i = 0; i < held.size(); ++i) queues[held[i].queue].first[held[i].entry].ttl_left = left[i];
  return queues;
}

// In one flight.
Result<void> EtcdStore::read_some(std::span<const std::string> wire_keys, std::int64_t most, std::vector<Queue>& queues,
                                  std::vector<Held>& held, Wait wait) {
  std::vector<Call> calls;
  std::vector<std::span<const std::string>> parts;
  for (; !wire_keys.empty(); wire_keys = wire_keys.subspan(parts.back().size())) {
    parts.push_back(wire_keys.first(std::min(max_read, wire_keys.size())));
    calls.push_back(read_of(keys_, parts.back(), most));
  }
  const auto answers = RLOCK_TRY(gateway_.ask(calls, wait));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (is_too_long(answers[i])) {
      for (const auto& key : parts[i]) append(RLOCK_TRY(read_alone(key, most, wait)), most, queues, held);
    } else {
      append(RLOCK_TRY(gateway_.outcome(answers[i], 2 * parts[i].size(), 0)), most, queues, held);
    }
  }
  return {};
}

// As many of its entries as there is room for in one answer.
Result<Outcome> EtcdStore::read_alone(const std::string& wire_key, std::int64_t most, Wait wait) {
  constexpr std::int64_t less_each_time = 16;
  for (most = std::max<std::int64_t>(most, 1);; most /= less_each_time) {
    const auto call = read_of(keys_, {&wire_key, 1}, most);
    const auto answer = RLOCK_TRY(gateway_.ask(std::span(&call, 1), wait)).front();
    if (!is_too_long(answer) || most < less_each_time) return gateway_.outcome(answer, 2, 0);
  }
}

// Of what read_of() asks for.
void EtcdStore::append(const Outcome& outcome, std::int64_t most, std::vector<Queue>& queues, std::vector<Held>& held) {
  for (std::size_t i = 0; i + 1 < outcome.steps.size(); i += 2) {
    append(outcome.steps[i], outcome.steps[i + 1], most, queues, held);
  }
}

void EtcdStore::append(const StepResult& entries, const StepResult& last_run, std::int64_t most,
                       std::vector<Queue>& queues, std::vector<Held>& held) {
  Queue queue;
  queue.size = entries.count;
  for (const auto& entry : entries.found) {
    if (std::ssize(queue.first) < most) queue.first.push_back(to_listed(entry));
  }
  if (!last_run.found.empty()) queue.last_run = last_run.found.front().value;
  const auto holders = ordered::holders_in(std::span<const Listed>(queue.first));
  for (std::size_t i = 0; i < holders; ++i) held.push_back({queues.size(), i, entries.found[i].lease});
  queues.push_back(std::move(queue));
}

// Of a queue, one page is enough: what follows of it is passed over.
Result<std::vector<std::string>> EtcdStore::list(const std::string& prefix, Wait wait) {
  std::set<std::string> found;
  for (const Range& all : {keys_.queues(prefix), keys_.last_runs(prefix)}) {
    Range rest = all;
    while (true) {
      const auto answer = RLOCK_TRY(gateway_.ask(page_of(rest, max_page), wait));
      const auto page = read_range(answer);
      if (!page) return std::unexpected(gateway_.senseless());
      if (page->found.empty()) break;
      for (const auto& entry : page->found) {
        if (auto key = keys_.wire_key(entry.key)) found.insert(std::move(*key));
      }
      const auto& last = page->found.back().key;
      if (last < rest.from || std::ssize(page->found) < max_page) break;
      rest.from = keys_.behind(last);
    }
  }
  return std::vector<std::string>(found.begin(), found.end());
}

}  // namespace rlock::etcd
