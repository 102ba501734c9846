#include "redis/reply.hpp"

#include <algorithm>
#include <array>

namespace rlock::redis {
namespace {

using base::ErrorCode;

struct Meaning {
  std::string_view code;
  ErrorCode error;
  std::string_view advice;
};

constexpr std::array meanings{
    Meaning{"NOAUTH", ErrorCode::refused,
            "it wants a password: put it in RLOCK_SERVER, REDISCLI_AUTH or --password-file"},
    Meaning{"WRONGPASS", ErrorCode::refused, "the user or password is wrong"},
    Meaning{"NOPERM", ErrorCode::refused, "an ACL denies what rlock needs"},
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
    Meaning{"MOVED", ErrorCode::configuration, "it is a cluster node that does not own the key"},
    Meaning{"ASK", ErrorCode::configuration, "it is a cluster node that does not own the key"},
    Meaning{"CROSSSLOT", ErrorCode::configuration, "it is a cluster, and the key spoils the hash tag"},
};

// nullptr where nothing is known of the code.
const Meaning* find_row(std::string_view code) {
  const auto* row = std::ranges::find(meanings, code, &Meaning::code);
  return row == meanings.end() ? nullptr : row;
}

}  // namespace

std::string_view Reply::error_code() const {
  std::string_view message = text;
  // 6.2: "ERR Error running script (call to f_…): @user_script:12: -OOM command not allowed …"
  if (message.starts_with("ERR Error ")) {
    if (const auto at = message.rfind(": -"); at != std::string_view::npos) message.remove_prefix(at + 3);
  }
  return message.substr(0, message.find(' '));
}

base::Error error_of(const Reply& reply, std::string_view server) {
  const std::string_view text = reply.text;
  const auto said = std::string(server) + " answered: " + reply.text.substr(0, 300);
  const auto row_error = [&](const Meaning& row) -> base::Error {
    return {row.error, std::string(server) + ": " + std::string(row.advice) + " (" + std::string(row.code) + ")"};
  };
  if (const auto* row = find_row(reply.error_code())) return row_error(*row);
  if (text.starts_with("ERR AUTH") || text.starts_with("ERR invalid password") ||
      text.starts_with("ERR Client sent AUTH")) {
    return {ErrorCode::refused, said};
  }
  // What Redis 7.0, and later ones, make of NOPERM inside a script.
  if (text.find("user executing the script can't") != std::string_view::npos ||
      text.find("ACL failure in script") != std::string_view::npos) {
    return row_error(*find_row("NOPERM"));
  }
  // Before authentication a server takes only short commands.
  if (text.starts_with("ERR Protocol error: unauthenticated")) return row_error(*find_row("NOAUTH"));
  if (text.starts_with("ERR DB index") || text.starts_with("ERR SELECT")) return {ErrorCode::configuration, said};
  if (text.starts_with("ERR max number of clients")) return {ErrorCode::unready, said};
  return {ErrorCode::internal, said};
}

}  // namespace rlock::redis
