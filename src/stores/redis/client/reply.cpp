#include "stores/redis/client/reply.hpp"

#include <algorithm>
#include <array>

namespace rlock::redis {
namespace {

using base::ErrorCode;

struct Meaning {
  std::string_view text;
  ErrorCode error;
  std::string_view advice;
};

constexpr std::string_view is_node =
    "it is a node of a Cluster, and another one has the key; write redis+cluster:// for redis:// in the URL, or "
    "rediss+cluster:// for rediss://";

constexpr std::array meanings{
    Meaning{"NOAUTH", ErrorCode::refused,
            "it needs a password: put it in the URL (RLOCK_SERVER, /etc/rlock.conf), REDISCLI_AUTH or "
            "--password-file; inside rlock run, use one of the last two"},
    Meaning{"WRONGPASS", ErrorCode::refused, "the user or password is wrong"},
    Meaning{"NOPERM", ErrorCode::refused, "an ACL denies what rlock needs"},
    Meaning{"NOINFO", ErrorCode::refused, "an ACL denies INFO, which --grace needs"},
    Meaning{"DENIED", ErrorCode::refused, "it is in protected mode"},
    Meaning{"LOADING", ErrorCode::unready, "it is loading its data"},
    Meaning{"BUSY", ErrorCode::unready, "it is busy with a script"},
    Meaning{"MASTERDOWN", ErrorCode::unready, "it is a replica without its master"},
    Meaning{"READONLY", ErrorCode::unready, "it is a read-only replica; name the master"},
    Meaning{"OOM", ErrorCode::unready, "it is out of memory"},
    Meaning{"MISCONF", ErrorCode::unready, "it cannot persist and takes no writes"},
    Meaning{"NOREPLICAS", ErrorCode::unready, "it has too few replicas to take writes"},
    Meaning{"TRYAGAIN", ErrorCode::unready, "it is moving its keys"},
    Meaning{"CLUSTERDOWN", ErrorCode::unready, "its cluster is down"},
    Meaning{"MOVED", ErrorCode::configuration, is_node},
    Meaning{"ASK", ErrorCode::configuration, is_node},
    Meaning{"CROSSSLOT", ErrorCode::configuration, "it is a cluster, and the key spoils the hash tag"},
};

// How errors begin that have no code of their own. What follows may be an argument of ours: a password or a token.
constexpr std::array known_texts{
    Meaning{"ERR AUTH <password> called without any password configured", ErrorCode::refused, "it has no password set"},
    Meaning{"ERR Client sent AUTH, but no password is set", ErrorCode::refused, "it has no password set"},
    Meaning{"ERR invalid password", ErrorCode::refused, "the password is wrong"},
    Meaning{"ERR DB index is out of range", ErrorCode::configuration, "it does not have that database"},
    Meaning{"ERR invalid DB index", ErrorCode::configuration, "it does not have that database"},
    Meaning{"ERR SELECT is not allowed in cluster mode", ErrorCode::configuration, "it does not have that database"},
    Meaning{"ERR max number of clients", ErrorCode::unready, "it has too many clients"},
    Meaning{"ERR wrong number of arguments", ErrorCode::internal, "it does not take a command as rlock sends it"},
    Meaning{"ERR Unknown Redis command called from", ErrorCode::configuration, "it lacks a command that rlock needs"},
    Meaning{"WRONGTYPE", ErrorCode::internal, "a key beside the lock holds something of another type"},
    // Errors of proxies: the first two of twemproxy, the others of Envoy.
    Meaning{"ERR Connection refused", ErrorCode::unready, "it is a proxy that does not reach its server"},
    Meaning{"ERR Connection timed out", ErrorCode::unready, "it is a proxy that does not reach its server"},
    Meaning{"no upstream host", ErrorCode::unready, "it is a proxy that does not reach its server"},
    Meaning{"upstream failure", ErrorCode::unready, "it is a proxy that does not reach its server"},
    Meaning{"upstream protocol error", ErrorCode::unready, "it is a proxy that does not reach its server"},
};

constexpr std::string_view unknown_command = "ERR unknown command";
constexpr std::array commands{"AUTH",   "SELECT", "HELLO", "EVALSHA", "EVAL",  "SUBSCRIBE",
                              "CLIENT", "SCAN",   "WAIT",  "CLUSTER", "ASKING"};

// Redis 6.2 puts the error of a command that a script made behind words of its own:
// "ERR Error running script (call to f_…): @user_script:12: -OOM command not allowed …"
std::string_view unwrapped(std::string_view text) {
  const auto at = text.rfind(": -");
  return text.starts_with("ERR Error ") && at != std::string_view::npos ? text.substr(at + 3) : text;
}

// nullptr where nothing is known of the code.
const Meaning* find_row(std::string_view code) {
  const auto* row = std::ranges::find(meanings, code, &Meaning::text);
  return row == meanings.end() ? nullptr : row;
}

const Meaning* find_known(std::string_view text) {
  // NOPERM inside a script, in the words of Redis 7.0 and of later ones.
  if (text.find("user executing the script can't") != std::string_view::npos ||
      text.find("ACL failure in script") != std::string_view::npos) {
    return find_row("NOPERM");
  }
  // Commands of a script, while a Cluster moves what they need, or is down.
  if (text.find("cript attempted to access a non local key") != std::string_view::npos) return find_row("TRYAGAIN");
  if (text.find("cript attempted to execute a") != std::string_view::npos) return find_row("CLUSTERDOWN");
  // Before authentication a server takes only short commands.
  if (text.starts_with("ERR Protocol error: unauthenticated")) return find_row("NOAUTH");
  text = unwrapped(text);
  const auto* row =
      std::ranges::find_if(known_texts, [&](const Meaning& known) { return text.starts_with(known.text); });
  return row == known_texts.end() ? nullptr : row;
}

// "ERR unknown command 'EVALSHA', with args beginning with: 'SHA1' '5' …": the name where it is one of ours, else
// nothing.
std::string_view command_named_in(std::string_view text) {
  const auto rest = text.substr(std::min(unknown_command.size() + 2, text.size()));
  const auto* name = std::ranges::find_if(commands, [&](std::string_view command) {
    return rest.starts_with(command) && rest.size() > command.size() &&
           std::string_view("'`").find(rest[command.size()]) != std::string_view::npos;
  });
  return name == commands.end() ? "" : *name;
}

// What an ACL denies, as a rule of ACL SETUSER: "…no permissions to run the 'cluster|slots' command…" is
// +cluster|slots. Empty where it is not told. A name in small letters alone: a password or a token does not stand
// there.
std::string denied_by(std::string_view text) {
  if (text.find("permissions to access a channel") != text.npos) return ": access to its channels";
  if (text.find("permissions to access") != text.npos) return ": access to its keys";
  constexpr std::string_view before = "permissions to run the '";
  const auto at = text.find(before);
  if (at == text.npos) return "";
  const auto rest = text.substr(at + before.size());
  const auto name = rest.substr(0, rest.find('\''));
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '|' || c == '-'; };
  const bool is_name = !name.empty() && name.size() <= 32 && std::ranges::all_of(name, is_letter);
  return is_name ? ": +" + std::string(name) : "";
}

// Capital letters only: a token is never that, and a password should not be.
bool is_error_code(std::string_view word) {
  return !word.empty() && word.size() <= 16 && std::ranges::all_of(word, [](char c) { return c >= 'A' && c <= 'Z'; });
}

// server: advice (shown)
std::string said(std::string_view server, std::string_view advice, std::string_view shown) {
  std::string line(server);
  line.append(": ").append(advice).append(" (").append(shown.substr(0, shown.find_last_not_of(' ') + 1)).append(")");
  return line;
}

}  // namespace

std::string_view Reply::error_code() const {
  const auto message = unwrapped(text);
  return message.substr(0, message.find(' '));
}

base::Error error_of(const Reply& reply, std::string_view server) {
  const auto code = reply.error_code();
  if (code == "NOPERM") {
    const auto* row = find_row(code);
    return {row->error, said(server, std::string(row->advice) + denied_by(reply.text), row->text)};
  }
  if (const auto* row = find_row(code)) return {row->error, said(server, row->advice, row->text)};
  if (const auto* known = find_known(reply.text)) return {known->error, said(server, known->advice, known->text)};
  if (reply.text.starts_with(unknown_command)) {
    const auto name = command_named_in(reply.text);
    // A server without AUTH cannot accept a client that has a password.
    return {name == "AUTH" ? ErrorCode::refused : ErrorCode::configuration,
            said(server,
                 name == "EVALSHA" ? "it lacks a command that rlock needs; if it is a Sentinel, write redis+sentinel://"
                                   : "it lacks a command that rlock needs",
                 std::string(unknown_command) + ' ' + std::string(name))};
  }
  return {
      ErrorCode::internal,
      said(server, "it answered with an error that rlock does not know, whose text may hold a secret and is not shown",
           is_error_code(code) ? code : "no code")};
}

std::unexpected<base::Error> not_understood(std::string_view server) {
  return base::fail(ErrorCode::internal, std::string(server) + " gave a reply that rlock does not understand");
}

base::Error error_without_password(const Reply& reply, std::string_view server) {
  if (reply.error_code() != "WRONGPASS") return error_of(reply, server);
  return {ErrorCode::refused, said(server, find_row("NOAUTH")->advice, "WRONGPASS")};
}

}  // namespace rlock::redis
