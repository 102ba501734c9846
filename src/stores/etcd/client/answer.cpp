#include "stores/etcd/client/answer.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/text/bounds.hpp"
#include "base/text/number.hpp"
#include "base/text/text.hpp"

namespace rlock::etcd {

using base::ErrorCode;
using base::fail;
using base::Result;
using nlohmann::json;

namespace {

// The deepest answer, of a transaction, has 7. A queue of 25,000 waiters has some 150,000 values.
constexpr int max_depth = 32;
constexpr int max_values = 250'000;
constexpr std::size_t max_message = 200;

// Of gRPC (its statuscodes.md).
enum Code : int {
  cancelled = 1,
  invalid_argument = 3,
  deadline_exceeded = 4,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  unauthenticated = 16,
};

constexpr std::string_view cut_off =
    "its gateway cannot connect to it; under client-cert-auth the certificate of a member has to be for clients too "
    "(extendedKeyUsage = serverAuth, clientAuth)";

bool is_small(std::string_view text) {
  int depth = 0;
  int values = 0;
  bool is_in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') is_in_text = !is_in_text;
    if (is_in_text) {
      if (c == '\\') ++i;
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (c == ',') ++values;
    if (depth > max_depth || values > max_values) return false;
  }
  return true;
}

// Of 3.4 "error" is the text once more, and of a stream the whole.
Refusal refusal_in(const json& answer) {
  Refusal refusal{.code = -1, .message = ""};
  if (!answer.is_object()) return refusal;
  const auto error = answer.find("error");
  const auto& body = error != answer.end() && error->is_object() ? *error : answer;
  for (const char* name : {"grpc_code", "code"}) {
    const auto code = body.find(name);
    if (code == body.end() || !code->is_number_integer()) continue;
    refusal.code = static_cast<int>(std::clamp<std::int64_t>(code->get<std::int64_t>(), -1, 1000));
    break;
  }
  const auto message = body.find("message");
  if (message != body.end() && message->is_string()) {
    refusal.message = base::printable(base::whole_characters(message->get_ref<const std::string&>(), max_message));
  }
  return refusal;
}

bool has(const Refusal& refusal, std::string_view text) { return refusal.message.contains(text); }

// A server that is not etcd may repeat what it was sent, which holds passwords and tokens.
std::string shown(const Refusal& refusal, int status) {
  if (refusal.message.starts_with("etcdserver: ")) return refusal.message;
  if (refusal.code >= 0) return "error " + std::to_string(refusal.code) + " of gRPC";
  return "HTTP status " + std::to_string(status);
}

// The errors that every step meets in the same way; nullopt: another one.
std::optional<base::Error> common_error(const Refusal& refusal, int status, const std::string& name) {
  const auto error = [&](ErrorCode code, const std::string& text) { return base::Error{code, name + ": " + text}; };
  switch (refusal.code) {
    case permission_denied:
      return error(ErrorCode::refused, "the user lacks rights; docs/consensus.md has the role to grant");
    case unimplemented:
      return error(ErrorCode::configuration, "it is too old; rlock needs etcd 3.4 or later");
    case resource_exhausted:
      if (has(refusal, "database space exceeded")) {
        return error(ErrorCode::unready,
                     "its database is full (NOSPACE): compact and defragment it, then etcdctl alarm disarm");
      }
      break;
    case unavailable:
      if (has(refusal, "connection closed")) return error(ErrorCode::unreachable, std::string(cut_off));
      // Of 3.5 and later: an alert of its own TLS.
      if (has(refusal, "authentication handshake failed") || has(refusal, "remote error: tls")) {
        return error(ErrorCode::configuration, std::string(cut_off));
      }
      break;
    case -1:
      if (status == 404) {
        return error(
            ErrorCode::configuration,
            "it has no gateway; rlock needs etcd 3.4 or later with enable-grpc-gateway (of a member that has a "
            "configuration file, in that)");
      }
      if (status == 401 || status == 403) return error(ErrorCode::refused, shown(refusal, status));
      return error(ErrorCode::unreachable, shown(refusal, status));
    default:
      break;
  }
  // cancelled: the member is about to end.
  const bool may_pass = refusal.code == cancelled || refusal.code == unavailable || refusal.code == deadline_exceeded ||
                        refusal.code == resource_exhausted || refusal.code == internal || status >= 500;
  if (may_pass) return error(ErrorCode::unreachable, shown(refusal, status));
  return std::nullopt;
}

Result<Answer> judged(Refusal refusal, int status, const std::string& name) {
  if (auto error = common_error(refusal, status, name)) return std::unexpected(std::move(*error));
  return Answer(std::unexpected(std::move(refusal)));
}

Result<Answer> not_etcd(const std::string& name) {
  return fail(ErrorCode::unreachable, name + " does not answer as etcd does");
}

}  // namespace

std::optional<json> read_json(std::string_view text) {
  if (!is_small(text)) return std::nullopt;
  auto read = json::parse(text, nullptr, false);
  if (read.is_discarded()) return std::nullopt;
  return read;
}

Result<Answer> read_answer(const net::HttpAnswer& http, const std::string& name) {
  if (http.is_too_long) return Answer(std::unexpected(Refusal{.code = Refusal::too_long, .message = ""}));
  auto body = read_json(http.body);
  if (http.body.starts_with("CommonName of client")) {
    return fail(ErrorCode::configuration,
                name +
                    ": its gateway takes no certificate for a user; show one without a common name (CN), and name a "
                    "user in the URL");
  }
  if (http.status != 200) return judged(refusal_in(body ? *body : json()), http.status, name);
  if (!body || !body->is_object()) return not_etcd(name);
  if (body->contains("error")) return judged(refusal_in(*body), http.status, name);
  return Answer(std::move(*body));
}

Result<Answer> read_message(std::string_view line, const std::string& name) {
  auto message = RLOCK_TRY(read_answer({.status = 200, .date = "", .body = std::string(line)}, name));
  if (!message) return message;
  const auto result = message->find("result");
  if (result == message->end() || !result->is_object()) return not_etcd(name);
  return Answer(std::move(*result));
}

bool is_cut_off(const net::HttpAnswer& http) {
  const auto body = read_json(http.body);
  const auto refusal = refusal_in(body ? *body : json());
  return refusal.code == unavailable && has(refusal, "connection closed");
}

bool needs_token(const Refusal& refusal) {
  return refusal.code == unauthenticated ||
         (refusal.code == invalid_argument &&
          (has(refusal, "revision of auth store is old") || has(refusal, "user name is empty")));
}

bool is_auth_off(const Refusal& refusal) {
  return refusal.code == failed_precondition && has(refusal, "authentication is not enabled");
}

// "Mon, 23 Nov 2026 01:49:42 GMT" (RFC 9110, 5.6.7): the form that servers have to send.
std::optional<std::int64_t> read_date(std::string_view text) {
  constexpr std::string_view form = "Mon, 23 Nov 2026 01:49:42 GMT";
  constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != form.size() || !text.ends_with(" GMT")) return std::nullopt;
  constexpr unsigned none = 9999;
  const auto number = [&](std::size_t at, std::size_t size) {
    return base::parse_number<unsigned>(text.substr(at, size)).value_or(none);
  };
  const auto month = std::ranges::find(months, text.substr(8, 3)) - months.begin() + 1;
  const std::chrono::year_month_day day(std::chrono::year(static_cast<int>(number(12, 4))),
                                        std::chrono::month(static_cast<unsigned>(month)),
                                        std::chrono::day(number(5, 2)));
  if (!day.ok() || number(12, 4) == none || number(17, 2) > 23 || number(20, 2) > 59 || number(23, 2) > 60)
    return std::nullopt;
  const auto time = std::chrono::sys_days(day) + std::chrono::hours(number(17, 2)) +
                    std::chrono::minutes(number(20, 2)) + std::chrono::seconds(number(23, 2));
  return base::time_us_of(time.time_since_epoch().count(), 0);
}

}  // namespace rlock::etcd
