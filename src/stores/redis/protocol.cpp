#include "stores/redis/protocol.hpp"

#include <algorithm>

#include "base/text/bounds.hpp"
#include "base/wait/late_requests.hpp"
#include "lock/lease.hpp"
#include "stores/redis/scripts/reply_shape.hpp"

namespace rlock::redis {

using base::count_of;
using base::ErrorCode;
using base::fail;
using base::fence_of;
using base::Result;
using base::span_of;
using base::time_us_of;
using base::ttl_of;
using base::Wait;

using Next = ScriptRunner::Next;

namespace {

// Made when they are needed: a short job is not to pay for them.
Command speak_resp3() { return {"HELLO", "3"}; }
Command track_reads() { return {"CLIENT", "TRACKING", "ON", "NOLOOP"}; }

std::string_view letter_of(Wake wake) {
  switch (wake) {
    case Wake::push:
      return "s";
    case Wake::shard:
      return "c";
    case Wake::poll:
      break;
  }
  return "p";
}

// As the scripts take what may be left out.
std::string ms_or_none(base::Duration time) {
  return time > base::Duration::zero() ? std::to_string(time.count()) : std::string();
}

ScriptCall renewal(const Scripts& scripts, const Names& names, const lock::Request& request) {
  return {scripts.renew, names, request.token, {request.token, std::to_string(request.ttl.count())}};
}

// A script looks at so many waiters and no more: whoever called it calls again for the rest. It did nothing else
// meanwhile.
bool is_to_be_repeated(const Reply& reply) { return first_of(reply, "i") == 3; }

// 0, which stands for one that is not known, where the record makes no sense.
std::uint64_t fence_at(const Reply& reply, std::size_t i) { return fence_of(reply.items[i].integer).value_or(0); }

}  // namespace

const Names& Protocol::names_of(const lock::Request& request) {
  if (!names_ || names_->lock != request.name.wire_key) names_.emplace(request.name.wire_key);
  return *names_;
}

ScriptCall Protocol::acquisition(const lock::Request& request, std::optional<std::int64_t> ticket, Wake wake) {
  return {scripts().acquire,
          names_of(request),
          request.token,
          {request.token, std::to_string(request.ttl.count()), ticket ? std::to_string(*ticket) : "",
           std::string(letter_of(wake)), request.who.encode(), "", request.mode.encode(), ms_or_none(request.once)},
          safeguards_.grace_for(request.ttl),
          5};
}

Result<Answer> Protocol::read_answer(const Reply& reply) const {
  if (first_of(reply, "iit") == 1 && fence_at(reply, 1) > 0) {
    return lock::Grant{fence_at(reply, 1), session().sent_at(), reply.items[2].text};
  }
  if (first_of(reply, "iiiiiti") == 0) {
    const auto& items = reply.items;
    const auto known = items[4].integer;
    lock::Busy busy{.rank = count_of(items[2].integer),
                    .holder_ttl = ttl_of(items[3].integer),
                    .holder_is_foreign = known <= 0,
                    .is_of_other_form = known == -1,
                    .is_other_data = known == -2,
                    .is_for_libraries = known == -3,
                    .holder = lock::Record::decode(items[5].text)};
    if (items[6].integer > 0) busy.young_for = span_of(items[6].integer);
    return NotHeld{time_us_of(items[1].integer), std::move(busy)};
  }
  if (first_of(reply, "iit") == 2) {
    return lock::AlreadySucceeded{span_of(reply.items[1].integer), lock::LastRun::decode(reply.items[2].text)};
  }
  if (first_of(reply, "i") == -1) return Tombstoned{};
  if (first_of(reply, "it") == -2) {
    if (const auto mode = lock::Mode::decode(reply.items[1].text)) return OtherMode{*mode};
  }
  return not_understood(session().name());
}

Result<Answer> Protocol::acquire(const lock::Request& request, std::optional<std::int64_t> ticket, Wake wake,
                                 Wait wait) {
  while (true) {
    const auto reply = RLOCK_TRY(runner_.run(acquisition(request, ticket, wake), wait));
    if (!is_to_be_repeated(reply)) return read_answer(reply);
    if (wait.is_over())
      return NotHeld{ticket.value_or(0), lock::Busy{.holder_ttl = base::Duration::zero()}};  // at once
  }
}

Result<Answer> Protocol::acquire_subscribed(const lock::Request& request, std::int64_t ticket, Wake& wake, Wait wait) {
  if (inbox_) (void)inbox_->take();  // what an earlier connection brought
  for (int redirections = 0;;) {
    auto call = acquisition(request, ticket, wake);
    RLOCK_TRY(runner_.fill_in_grace(call, wait));
    // In this order: a waiter without a subscriber counts as dead.
    const std::vector<Command> flight{speak_resp3(),
                                      {wake == Wake::shard ? "SSUBSCRIBE" : "SUBSCRIBE",
                                       names_of(request).channel(request.token), names_of(request).channel_of_all()},
                                      call.by_hash()};
    RLOCK_TRY(session().send(flight, wait));
    const auto hello = RLOCK_TRY(session().next(wait));
    const auto subscribed = RLOCK_TRY(session().next(wait));
    if (hello.is_error() || subscribed.is_error()) {
      if (runner_.after(subscribed, scripts().acquire, redirections) == Next::send_again) continue;
      // After a refused subscription the connection cannot be used.
      session().close();
      // Busy or loading passes by; what is not known or not permitted stays so.
      auto error = runner_.error_of(hello.is_error() ? hello : subscribed);
      if (error.code == ErrorCode::unready) return std::unexpected(std::move(error));
      if (std::exchange(wake, wake == Wake::shard ? Wake::push : Wake::poll) == Wake::shard) continue;
      return acquire(request, ticket, wake, wait);
    }
    subscribed_on_ = session().connection();
    const auto reply = RLOCK_TRY(session().next_in_band(wait));
    switch (runner_.after(reply, scripts().acquire, redirections)) {
      case Next::read:
        return is_to_be_repeated(reply) ? acquire(request, ticket, wake, wait) : read_answer(reply);
      case Next::send_again:
        continue;
      case Next::run:
        return acquire(request, ticket, wake, wait);
      case Next::fail:
        return std::unexpected(runner_.error_of(reply));
    }
  }
}

Result<lock::Ownership> Protocol::read_renewed(const Reply& reply) const {
  if (first_of(reply, "iit") == 1) {
    return lock::Ownership{.holder = lock::Ownership::Holder::us,
                           .fence = fence_at(reply, 1),
                           .counts_from = session().sent_at(),
                           .run_id = reply.items[2].text};
  }
  return read_not_ours(reply);
}

Result<lock::Ownership> Protocol::read_not_ours(const Reply& reply) const {
  lock::Ownership ownership;
  if (first_of(reply, "ii") == 0) {
    ownership.holder = lock::Ownership::Holder::other;
  } else if (first_of(reply, "ii") != -1) {
    return not_understood(session().name());
  }
  ownership.is_released = reply.items[1].integer == 1;
  return ownership;
}

Result<lock::Ownership> Protocol::renew(const lock::Request& request, Wait wait) {
  const auto reply = RLOCK_TRY(runner_.run(renewal(scripts(), names_of(request), request), wait));
  return read_renewed(reply);
}

Result<lock::Ownership> Protocol::watch_and_renew(const lock::Request& request, Wait wait) {
  const auto reply = RLOCK_TRY(
      runner_.run_behind({speak_resp3(), track_reads()}, renewal(scripts(), names_of(request), request), wait));
  return read_renewed(reply);
}

Result<lock::Ownership> Protocol::reclaim(const lock::Request& request, const lock::Ownership& last, Server server,
                                          Wait wait) {
  runner_.send_in_full(scripts().reclaim);
  const auto away = std::chrono::ceil<base::Duration>(base::BootClock::now() - last.counts_from);
  const auto reply = RLOCK_TRY(runner_.run(
      {scripts().reclaim,
       names_of(request),
       request.token,
       {request.token, std::to_string(request.ttl.count()), std::to_string(last.fence), last.run_id,
        request.who.encode(), server == Server::other ? "1" : "", request.mode.encode(), std::to_string(away.count())}},
      wait));
  return read_renewed(reply);
}

Result<std::int64_t> Protocol::replicated(const lock::Request& request, Wait wait) {
  auto& server = runner_.served_by();
  const auto connection = server.connection();
  const auto left = server.bounded(wait).until() - base::BootClock::now();
  // The answer, too, has to come within the wait. Zero would be for ever.
  const auto limit = std::clamp(std::chrono::duration_cast<base::Duration>(left * 4 / 5), base::Duration(1),
                                std::max(lock::renewal_pause(request.ttl), base::Duration(1)));
  const Command command{"WAIT", std::to_string(safeguards_.replicas), std::to_string(limit.count())};
  const auto replies = RLOCK_TRY(server.flight({&command, 1}, wait));
  const auto& reply = replies.front();
  if (reply.error_code() == "NOPERM") {
    return fail(ErrorCode::refused, server.name() + ": an ACL denies WAIT, which --replicas needs");
  }
  if (reply.is_error()) return std::unexpected(error_of(reply, server.name()));
  if (reply.kind != Reply::Kind::integer) return not_understood(session().name());
  // Another connection has written nothing, and every replica has that.
  if (server.connection() != connection) return fail(ErrorCode::unreachable, server.name() + " has moved");
  return count_of(reply.integer);
}

Result<lock::Ownership> Protocol::check(const lock::Request& request, Wait wait) {
  const auto reply = RLOCK_TRY(runner_.run({scripts().check, names_of(request), request.token, {request.token}}, wait));
  if (first_of(reply, "iitt") == 1) {
    const auto mode = lock::Mode::decode(reply.items[3].text);
    if (!mode) return not_understood(session().name());
    return lock::Ownership{
        lock::Ownership::Holder::us, fence_at(reply, 1), {}, lock::Record::decode(reply.items[2].text), *mode};
  }
  return read_not_ours(reply);
}

Result<bool> Protocol::raise_fence(const lock::Request& request, std::uint64_t fence, Wait wait) {
  const auto reply = RLOCK_TRY(
      runner_.run({scripts().raise, names_of(request), request.token, {request.token, std::to_string(fence)}}, wait));
  const auto holds = first_of(reply, "i");
  if (!holds) return not_understood(session().name());
  return *holds == 1;
}

Result<lock::Released> Protocol::release(const lock::Request& request, const lock::ReleaseOptions& options,
                                         Tombstone tombstone, Wait wait) {
  ScriptCall call{scripts().release,
                  names_of(request),
                  request.token,
                  {request.token, tombstone == Tombstone::yes ? std::to_string(base::tombstone_ttl.count()) : "0",
                   options.force == lock::Force::yes ? "1" : "", "", safeguards_.is_vote ? "1" : "",
                   ms_or_none(options.hold), options.last_run, std::to_string(options.remember.count())},
                  safeguards_.grace_for(request.ttl),
                  3};
  const auto reply = RLOCK_TRY(runner_.run(call, wait));
  // What is left to do is for those who wait. Whoever holds by then is not to be released by force.
  call.arguments[2].clear();
  for (bool is_more = is_shaped(reply, "itai"); is_more && !wait.is_over();) {
    const auto rest = runner_.run(call, wait);
    is_more = rest && is_shaped(*rest, "itai");
  }
  return read_released(reply);
}

Result<lock::Released> Protocol::read_released(const Reply& reply) const {
  const bool has_list = is_shaped(reply, "ita") || is_shaped(reply, "itai");
  const auto outcome = has_list ? std::optional(reply.items[0].integer) : first_of(reply, "it");
  if (outcome == 1) {
    lock::Released released{lock::ReleaseOutcome::released};
    const auto add = [&](const Reply& item) {
      if (auto record = lock::Record::decode(item.text)) released.holders.push_back(std::move(*record));
    };
    add(reply.items[1]);
    if (has_list) std::ranges::for_each(reply.items[2].items, add);
    return released;
  }
  if (outcome == 0) return lock::Released{lock::ReleaseOutcome::not_owner};
  if (outcome == -1) return lock::Released{lock::ReleaseOutcome::absent};
  if (outcome == -2) return lock::Released{lock::ReleaseOutcome::not_a_lock};
  if (outcome == -3) return lock::Released{lock::ReleaseOutcome::other_form};
  return redis::not_understood(session().name());
}

Result<bool> Protocol::track(Wait wait) {
  const auto request = track_reads();
  const auto replies = RLOCK_TRY(session().flight({&request, 1}, wait));
  return !replies.front().is_error();
}

Result<void> Protocol::untrack(Wait wait) {
  const Command request{"CLIENT", "TRACKING", "OFF"};
  RLOCK_TRY(session().flight({&request, 1}, wait));
  return {};
}

void Protocol::attend(const lock::Request& request) {
  if (inbox_ && inbox_->is_of(names_of(request), request.token)) return;
  inbox_ = std::make_unique<Inbox>(names_of(request), request.token);
  session().on_push([inbox = inbox_.get()](const Reply& push) { inbox->hear(push); });
}

Result<Pushed> Protocol::pushed() {
  if (!inbox_) return Pushed{};
  RLOCK_TRY(session().hear());
  return inbox_->take();
}

}  // namespace rlock::redis
