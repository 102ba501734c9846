#include "stores/redis/scripts/script_runner.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace rlock::redis {

using base::ErrorCode;
using base::Result;
using base::Wait;

namespace {

// A server that was away may have forgotten who holds the lock. For so long nobody who has noticed it acquires a lock
// that is free: holders, who come back sooner (LeaseTerms::retry_pause), reclaim theirs. Clients that come
// anew do not know of it; only --grace holds them off. Not longer than Session's min_standing, or connections that
// break again and again would keep a lock free for ever.
constexpr base::Duration courtesy{300};

// How often a request is sent on to another node of a Cluster: after that, the nodes do not agree.
constexpr int max_redirections = 5;

bool has_code(const Reply& reply, std::string_view code) { return reply.is_error() && reply.error_code() == code; }

// What a node says while the slot of the key is being moved.
bool is_of_a_move(const Reply& reply) { return has_code(reply, "TRYAGAIN") || has_code(reply, "ASK"); }

}  // namespace

bool is_elsewhere(const Reply& reply) { return is_of_a_move(reply) || has_code(reply, "MOVED"); }

// Where nodes of a Cluster go on saying that another one has the key, they do not agree yet, and can be asked again.
base::Error ScriptRunner::error_of(const Reply& reply) {
  if (session_.is_of_cluster() && (has_code(reply, "MOVED") || has_code(reply, "ASK"))) {
    (void)session_.follow(reply);
    return {ErrorCode::unready, session_.name() + ": its nodes do not agree on who serves the key"};
  }
  return redis::error_of(reply, session_.name());
}

// Another ASK behind the first comes where the slot has arrived and goes on to a third node: the first one knows it
// soon.
bool ScriptRunner::follow(const Reply& reply, int& redirections) {
  if (redirections++ >= max_redirections) return false;
  return session_.follow(reply) || (is_moving_ && session_.is_of_cluster() && has_code(reply, "ASK"));
}

ScriptRunner::Next ScriptRunner::after(const Reply& reply, const Script& script, int& redirections) {
  is_moving_ = was_asked_ = false;
  if (!reply.is_error()) return Next::read;
  if (follow(reply, redirections)) return Next::send_again;
  if (is_of_a_move(reply)) return Next::run;
  if (!has_code(reply, "NOSCRIPT")) return Next::fail;
  unknown_ = &script;
  return Next::run;
}

base::Duration ScriptRunner::courtesy_left() const {
  const auto since = session_.returned_at();
  if (!since) return {};
  return std::max(std::chrono::ceil<base::Duration>(*since + courtesy - base::BootClock::now()),
                  base::Duration::zero());
}

Result<void> ScriptRunner::fill_in_grace(ScriptCall& call, Wait wait) {
  if (call.grace_at == 0) return {};
  RLOCK_TRY(session_.open(wait));
  const auto has_grace = call.grace > base::Duration::zero();
  const auto young = has_grace ? session_.young_for(call.grace) : courtesy_left();
  call.arguments.at(call.grace_at) = has_grace || young > base::Duration::zero()
                                         ? std::to_string(call.grace.count()) + ' ' + std::to_string(young.count())
                                         : "";
  return {};
}

// The whole script is sent until it was answered once: a proxy may close the connection after each answer.
Result<Reply> ScriptRunner::run(ScriptCall call, Wait wait) {
  for (int redirections = 0;;) {
    is_moving_ = was_asked_ = false;
    RLOCK_TRY(fill_in_grace(call, wait));
    const bool in_full = unknown_ == &call.script;
    const auto request = in_full ? call.in_full() : call.by_hash();
    auto replies = RLOCK_TRY(session_.flight({&request, 1}, wait));
    auto& reply = replies.front();
    unknown_ = nullptr;
    if (is_of_a_move(reply)) reply = RLOCK_TRY(run_while_moving(call, wait));
    if (!reply.is_error()) return std::move(reply);
    if (follow(reply, redirections)) continue;
    if (in_full || !has_code(reply, "NOSCRIPT")) return std::unexpected(error_of(reply));
    unknown_ = &call.script;
  }
}

Result<Reply> ScriptRunner::run_behind(std::vector<Command> first, const ScriptCall& call, Wait wait) {
  auto flight = std::move(first);
  flight.push_back(call.by_hash());
  for (int redirections = 0;;) {
    auto replies = RLOCK_TRY(session_.flight(flight, wait));
    auto& reply = replies.back();
    switch (after(reply, call.script, redirections)) {
      case Next::read:
        return std::move(reply);
      case Next::send_again:
        continue;
      case Next::run:
        return run(call, wait);
      case Next::fail:
        return std::unexpected(error_of(reply));
    }
  }
}

// The keys of the lock are being moved to another node, one after the other, and scripts/common.lua says what can be
// done meanwhile. A key that has left the old node does not come back, so the answers need not be of one instant.
Result<Reply> ScriptRunner::run_while_moving(const ScriptCall& call, Wait wait) {
  is_moving_ = true;
  const auto& names = call.names;
  const std::vector<Command> flight{call.while_moving(Moving::split),
                                    {"EXISTS", names.queue()},
                                    {"EXISTS", names.info()},
                                    {"EXISTS", names.fence()},
                                    {"EXISTS", names.last()},
                                    {"EXISTS", names.holders()},
                                    {"EXISTS", names.tombstone(call.token)}};
  auto replies = RLOCK_TRY(session_.flight(flight, wait));
  const auto has_left = [](const Reply& reply) { return has_code(reply, "ASK"); };
  if (has_left(replies.front())) {
    const auto moving = !replies.back().is_error()               ? Moving::ended
                        : std::ranges::all_of(replies, has_left) ? Moving::whole
                                                                 : Moving::split;
    auto answer = RLOCK_TRY(session_.ask(replies.front(), call.while_moving(moving), wait));
    was_asked_ = answer.has_value();
    if (answer) replies.front() = std::move(*answer);
  }
  return std::move(replies.front());
}

}  // namespace rlock::redis
