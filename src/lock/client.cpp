#include "lock/client.hpp"

#include <algorithm>
#include <charconv>

namespace rlock::lock {

using base::ErrorCode;
using base::fail;
using base::Instant;
using base::Result;
using redis::Command;
using redis::Reply;

namespace {

// Longer than the kernel goes on sending what a closed connection still had (TCP_USER_TIMEOUT).
constexpr base::Duration spent_for{30'000};

std::int64_t integer_at(const Reply& reply, std::size_t i) { return reply.items[i].integer; }

std::vector<std::string> enter_arguments(const std::string& token, base::Duration ttl,
                                         std::optional<std::int64_t> ticket, Wake wake, const Who& who) {
  return {token, std::to_string(ttl.count()), ticket ? std::to_string(*ticket) : "", wake == Wake::push ? "s" : "p",
          who.encode()};
}

}  // namespace

bool is_shaped(const Reply& reply, std::string_view shape) {
  const auto letter = [](const Reply& item) {
    switch (item.kind) {
      case Reply::Kind::integer:
        return 'i';
      case Reply::Kind::text:
        return 't';
      case Reply::Kind::array:
        return 'a';
      default:
        return '?';
    }
  };
  return reply.kind == Reply::Kind::array && std::ranges::equal(reply.items, shape, {}, letter);
}

std::optional<base::Duration> ttl_of(std::int64_t pttl) {
  return pttl < 0 ? std::nullopt : std::optional(base::Duration(pttl));
}

Command script_command(std::string_view verb, std::string_view script, const Names& names, const std::string& token,
                       const std::vector<std::string>& arguments) {
  Command command{std::string(verb), std::string(script), "5",         names.lock,
                  names.queue,       names.info,          names.fence, names.spent(token)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Command Client::command(std::string_view verb, std::string_view script, const std::string& token,
                        const std::vector<std::string>& arguments) const {
  return script_command(verb, script, names_, token, arguments);
}

std::unexpected<base::Error> Client::nonsense() const {
  return fail(ErrorCode::internal, session_.name() + " gave a reply that rlock does not understand");
}

Result<Reply> Client::run(const Script& script, const std::string& token, const std::vector<std::string>& arguments,
                          Instant until, base::Poller& poller) {
  // A proxy may close the connection behind each answer: the next try spells the script out too, until one was
  // answered.
  while (true) {
    const bool in_full = unknown_ == &script;
    const auto request =
        in_full ? command("EVAL", script.text, token, arguments) : command("EVALSHA", script.sha1, token, arguments);
    auto replies = RLOCK_TRY(session_.flight({&request, 1}, until, poller));
    auto& reply = replies.front();
    unknown_ = nullptr;
    if (!reply.is_error()) return std::move(reply);
    if (in_full || reply.error_code() != "NOSCRIPT") {
      return std::unexpected(redis::error_of(reply, session_.name()));
    }
    unknown_ = &script;
  }
}

Result<Entered> Client::read_entered(const Reply& reply) const {
  if (is_shaped(reply, "ii") && integer_at(reply, 0) == 1) {
    return Held{static_cast<std::uint64_t>(integer_at(reply, 1)), session_.sent_at()};
  }
  if (is_shaped(reply, "iiiiit") && integer_at(reply, 0) == 0) {
    return NotHeld{integer_at(reply, 1), integer_at(reply, 2), ttl_of(integer_at(reply, 3)), integer_at(reply, 4) == 0,
                   Record::decode(reply.items[5].text)};
  }
  if (is_shaped(reply, "i") && integer_at(reply, 0) == -1) return Spent{};
  return nonsense();
}

Result<Entered> Client::enter(const std::string& token, base::Duration ttl, std::optional<std::int64_t> ticket,
                              Wake wake, const Who& who, Instant until, base::Poller& poller) {
  auto reply = run(enter_script, token, enter_arguments(token, ttl, ticket, wake, who), until, poller);
  if (!reply) return std::unexpected(reply.error());
  return read_entered(*reply);
}

Result<Entered> Client::enter_subscribed(const std::string& token, base::Duration ttl, std::int64_t ticket, Wake& wake,
                                         const Who& who, Instant until, base::Poller& poller) {
  wake = Wake::push;
  // In this order: a waiter without a subscriber counts as dead.
  const std::vector<Command> flight{
      {"HELLO", "3"},
      {"SUBSCRIBE", names_.channel(token), names_.channel_of_all()},
      command("EVALSHA", enter_script.sha1, token, enter_arguments(token, ttl, ticket, wake, who))};
  if (auto sent = session_.send(flight, until, poller); !sent) return std::unexpected(sent.error());
  auto hello = session_.next(until, poller);
  if (!hello) return std::unexpected(hello.error());
  auto subscribed = session_.next(until, poller);
  if (!subscribed) return std::unexpected(subscribed.error());
  if (hello->is_error() || subscribed->is_error()) {
    // What the refused subscription left of the connection is of no use.
    session_.close();
    // Busy or loading passes by; what is not known or not permitted stays so.
    auto error = redis::error_of(hello->is_error() ? *hello : *subscribed, session_.name());
    if (error.code == ErrorCode::unready) return std::unexpected(std::move(error));
    wake = Wake::poll;
    return enter(token, ttl, ticket, wake, who, until, poller);
  }
  auto reply = session_.next_in_band(until, poller);
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_error()) {
    if (reply->error_code() != "NOSCRIPT") return std::unexpected(redis::error_of(*reply, session_.name()));
    unknown_ = &enter_script;
    return enter(token, ttl, ticket, wake, who, until, poller);
  }
  return read_entered(*reply);
}

Result<Renewed> Client::renew(const std::string& token, base::Duration ttl, Instant until, base::Poller& poller) {
  auto reply = run(renew_script, token, {token, std::to_string(ttl.count())}, until, poller);
  if (!reply) return std::unexpected(reply.error());
  if (is_shaped(*reply, "ii") && integer_at(*reply, 0) == 1) {
    return Renewed{RenewOutcome::renewed, static_cast<std::uint64_t>(integer_at(*reply, 1))};
  }
  if (is_shaped(*reply, "i") && integer_at(*reply, 0) == 0) return Renewed{RenewOutcome::not_owner};
  if (is_shaped(*reply, "i") && integer_at(*reply, 0) == -1) return Renewed{RenewOutcome::absent};
  return nonsense();
}

Result<Checked> Client::check(const std::string& token, Instant until, base::Poller& poller) {
  using Holder = Checked::Holder;
  auto reply = run(check_script, token, {token}, until, poller);
  if (!reply) return std::unexpected(reply.error());
  if (is_shaped(*reply, "iit") && integer_at(*reply, 0) == 1) {
    return Checked{Holder::us, static_cast<std::uint64_t>(integer_at(*reply, 1)), Record::decode(reply->items[2].text)};
  }
  if (is_shaped(*reply, "i") && integer_at(*reply, 0) == 0) return Checked{Holder::other, 0, std::nullopt};
  if (is_shaped(*reply, "i") && integer_at(*reply, 0) == -1) return Checked{Holder::nobody, 0, std::nullopt};
  return nonsense();
}

Result<Released> Client::leave(const std::string& token, Force force, Instant until, base::Poller& poller) {
  const auto spent = std::to_string(spent_for.count());
  auto reply = run(leave_script, token, {token, spent, force == Force::yes ? "1" : ""}, until, poller);
  if (!reply) return std::unexpected(reply.error());
  if (!is_shaped(*reply, "it")) return nonsense();
  auto holder = Record::decode(reply->items[1].text);
  switch (integer_at(*reply, 0)) {
    case 1:
      return Released{ReleaseOutcome::released, std::move(holder)};
    case 0:
      return Released{ReleaseOutcome::not_owner, std::nullopt};
    case -1:
      return Released{ReleaseOutcome::absent, std::nullopt};
    case -2:
      return Released{ReleaseOutcome::not_a_lock, std::nullopt};
    default:
      return nonsense();
  }
}

Result<void> Client::watch(Instant until, base::Poller& poller) {
  const std::vector<Command> flight{{"HELLO", "3"}, {"CLIENT", "TRACKING", "ON", "NOLOOP"}};
  if (auto replies = session_.flight(flight, until, poller); !replies) return std::unexpected(replies.error());
  return {};
}

Result<bool> Client::track(Instant until, base::Poller& poller) {
  const Command tracking{"CLIENT", "TRACKING", "ON", "NOLOOP"};
  auto replies = session_.flight({&tracking, 1}, until, poller);
  if (!replies) return std::unexpected(replies.error());
  return !replies->front().is_error();
}

Result<Told> Client::told() {
  auto pushes = session_.pushes();
  if (!pushes) return std::unexpected(pushes.error());
  Told told;
  for (const auto& push : *pushes) {
    const auto& items = push.items;
    if (items.size() == 2 && items[0].text == "invalidate") {
      const auto& keys = items[1].items;
      told.flushed |= keys.empty();
      told.touched |= std::ranges::find(keys, names_.lock, &Reply::text) != keys.end();
    } else if (items.size() == 3 && items[0].text == "message") {
      const std::string_view text = items[2].text;
      std::uint32_t ms = 0;
      told.granted |= text == "g";
      told.queue_lost |= text == "r";
      if (text.starts_with("h ") && std::from_chars(text.data() + 2, text.data() + text.size(), ms).ec == std::errc{}) {
        told.look_in = base::Duration(ms);
      }
    }
  }
  return told;
}

Result<bool> Client::lock_was_touched() {
  auto told = this->told();
  if (!told) return std::unexpected(told.error());
  return told->touched || told->flushed;
}

}  // namespace rlock::lock
