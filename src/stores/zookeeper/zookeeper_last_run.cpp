#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/random_seed.hpp"
#include "base/text/bounds.hpp"
#include "base/text/text.hpp"
#include "stores/zookeeper/zookeeper_store.hpp"

// The last runs, which stay when nobody holds the lock any more.
namespace rlock::zookeeper {

using base::Result;
using base::Wait;

namespace {

// Last runs that are looked at for each that is new.
constexpr std::size_t max_pruned = 4;

}  // namespace

// "MS TEXT": for how long the text is to be kept, counted from when it was written.
std::optional<std::string> ZookeeperStore::last_run_in(const Node& node) const {
  std::string_view text = node.data;
  const auto kept = base::span_of(base::number_in(base::take_word(text)));
  const auto age_us = now_us() - std::chrono::microseconds(base::span_of(node.stat.modified_ms)).count();
  if (age_us > std::chrono::microseconds(kept).count()) return std::nullopt;
  return std::string(text);
}

// The node names of all locks that have one.
Result<std::vector<std::string>> ZookeeperStore::last_runs(Wait wait) {
  std::vector<Request> requests;
  for (const auto& shard : RLOCK_TRY(children_of(last_runs_path(), wait))) {
    if (shard.size() == 2) requests.push_back(get_children(last_runs_path() + "/" + shard));
  }
  if (requests.empty()) return std::vector<std::string>();
  std::vector<std::string> all;
  for (const auto& answer : RLOCK_TRY(ask(requests, wait))) {
    if (answer.code == Code::no_node) continue;
    auto names = answer.code == Code::ok ? read_children(answer.body) : std::nullopt;
    if (!names) return std::unexpected(session_.error_of(answer.code));
    std::ranges::move(*names, std::back_inserter(all));
  }
  return all;
}

// Of keys that are used once the last run would stay for ever: who writes a new one looks at some others of its shard.
Result<void> ZookeeperStore::prune(Wait wait) {
  const auto parent = shard_path(wire_key_);
  const auto listed = RLOCK_TRY(ask_as_us({get_children(parent)}, wait));
  const auto names = listed ? read_children(listed->front().body) : std::nullopt;
  if (!names || names->empty()) return {};
  std::vector<std::string> paths;
  std::vector<Request> looks;
  const auto from = base::random_seed();
  for (std::size_t i = 0; i < std::min(names->size(), max_pruned); ++i) {
    looks.push_back(get_data(paths.emplace_back(parent + "/" + (*names)[(from + i) % names->size()])));
  }
  const auto seen = RLOCK_TRY(ask_as_us(looks, wait));
  std::vector<Request> ends;
  for (std::size_t i = 0; seen && i < looks.size(); ++i) {
    const auto node = read_node((*seen)[i].body);
    if ((*seen)[i].code != Code::ok || !node || last_run_in(*node)) continue;
    ends.push_back(zookeeper::remove(paths[i], node->stat.version));
  }
  if (!ends.empty()) (void)RLOCK_TRY(ask_as_us(ends, wait));
  return {};
}

}  // namespace rlock::zookeeper
