#include <algorithm>
#include <array>
#include <utility>

#include "stores/zookeeper/zookeeper_store.hpp"

// How an entry ends, and what it leaves behind. All of it is written together, or nothing.
namespace rlock::zookeeper {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Wait;
using ordered::Entry;
using ordered::LeaveOptions;

namespace {

// Tokens that a queue keeps of those that left it.
constexpr std::ptrdiff_t max_marks = 16;

// A line a token, the latest last.
std::string with_mark(const std::string& marks, const std::string& token) {
  auto all = marks + node_name(token) + "\n";
  while (std::ranges::count(all, '\n') > max_marks) all.erase(0, all.find('\n') + 1);
  return all;
}

bool has_mark(const std::string& marks, const std::string& token) {
  return ("\n" + marks).contains("\n" + node_name(token) + "\n");
}

}  // namespace

// An unanswered try may have made an entry: what ends the session ends that too, and nothing of it comes late.
Result<bool> ZookeeperStore::leave_unknown(Wait wait) {
  bool was_there = false;
  if (own_session_) {
    const auto answers = RLOCK_TRY(ask_as_us({get_children(queue_), close_session()}, wait));
    if (answers) {
      const auto entries = entries_in(read_children(answers->front().body).value_or(std::vector<std::string>()));
      was_there = std::ranges::find(entries, token_, &EntryName::token) != entries.end();
    }
  }
  session_.disconnect();
  forget();
  return was_there;
}

// Keeps our token in the data of the queue.
Result<Request> ZookeeperStore::marked(Wait wait) {
  const auto answers = RLOCK_TRY(ask({get_data(queue_)}, wait));
  const auto node = read_node(answers.front().body);
  return set_data(queue_, with_mark(node ? node->data : "", token_), node ? node->stat.version : any_version);
}

// Our entry goes first: where that fails, so does all. Empty: it is gone.
Result<std::vector<Request>> ZookeeperStore::last_writes(const LeaveOptions& leaving, bool is_first_run, Wait wait) {
  const auto marks = leaving.leaves_note ? std::optional(RLOCK_TRY(marked(wait))) : std::nullopt;
  if (!own_) return std::vector<Request>();
  std::vector<Request> all{zookeeper::remove(path_of(*own_))};
  if (leaving.hold > base::Duration::zero()) {
    auto ended = *own_;
    ended.has_ended = true;
    auto record = leaving.ended;
    record.ttl = leaving.hold;
    auto id = *own_session_;
    id.fence = fence_;
    record.session = id.encode();
    all.push_back(create(path_of(ended), record.encode(), owner(), Lifetime::persistent));
  }
  if (!leaving.last_run.empty()) {
    const auto path = last_run_path(wire_key_);
    const auto run = std::to_string(leaving.remembered.count()) + " " + leaving.last_run;
    all.push_back(is_first_run ? create(path, run, owner(), Lifetime::persistent) : set_data(path, run));
  }
  if (marks) all.push_back(*marks);
  return all;
}

Result<bool> ZookeeperStore::leave(const LeaveOptions& leaving, Wait wait) {
  if (!may_be_there_) return false;
  if (!own_) return leave_unknown(wait);
  watched_.reset();
  bool is_first_run = false;
  for (int tries = 0; tries < max_tries; ++tries) {
    const auto writes = RLOCK_TRY(last_writes(leaving, is_first_run, wait));
    if (writes.empty()) return false;
    const auto answers = RLOCK_TRY(ask_as_us({multi(writes)}, wait));
    if (!answers) {
      if (!RLOCK_TRY(has_moved(wait))) return false;
      continue;
    }
    const auto outcome = read_multi(answers->front());
    if (!outcome) return fail(ErrorCode::internal, name() + ": the answer makes no sense");
    if (outcome->code == Code::ok) {
      if (is_first_run) (void)prune(wait);
      forget();
      return true;
    }
    const bool is_ours = outcome->failed == 0;
    if (is_ours && outcome->code == Code::no_node) {
      if (!RLOCK_TRY(find_again(wait))) return false;
      continue;
    }
    const bool may_change =
        outcome->code == Code::no_node || outcome->code == Code::node_exists || outcome->code == Code::bad_version;
    if (is_ours || !may_change) return std::unexpected(session_.error_of(outcome->code));
    if (outcome->code == Code::no_node && is_first_run) {
      const auto made = RLOCK_TRY(ask(parents(), wait));
      RLOCK_TRY(check_parents(made));
    }
    if (outcome->code != Code::bad_version) is_first_run = outcome->code == Code::no_node;
  }
  return fail(ErrorCode::unready, name() + ": the lock changes too fast to be released; try again");
}

Result<bool> ZookeeperStore::remove(std::span<const Entry> entries, Wait wait) {
  std::vector<Request> requests;
  for (const auto& entry : entries) {
    requests.push_back(zookeeper::remove(path_of(EntryName::of(entry)), data_version(entry)));
  }
  if (requests.empty()) return true;
  const auto answers = RLOCK_TRY(ask(requests, wait));
  bool are_all = true;
  for (const auto& answer : answers) {
    const bool is_other = answer.code == Code::no_node || answer.code == Code::bad_version;
    if (answer.code != Code::ok && !is_other) return std::unexpected(session_.error_of(answer.code));
    are_all = are_all && !is_other;
  }
  return are_all;
}

Result<bool> ZookeeperStore::was_released(const std::string& token, Wait wait) {
  const auto answers = RLOCK_TRY(ask({get_data(queue_)}, wait));
  const auto node = read_node(answers.front().body);
  return answers.front().code == Code::ok && node && has_mark(node->data, token);
}

}  // namespace rlock::zookeeper
