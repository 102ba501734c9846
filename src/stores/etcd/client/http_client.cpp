#include "stores/etcd/client/http_client.hpp"

#include <algorithm>
#include <utility>

#include "base/text/bounds.hpp"
#include "base/text/text.hpp"
#include "stores/etcd/client/answer.hpp"
#include "stores/etcd/client/connect_any.hpp"

namespace rlock::etcd {

using base::BootClock;
using base::ErrorCode;
using base::fail;
using base::Result;
using base::Wait;
using nlohmann::json;

namespace {

// A member that is cut off says so only after 7 s, and a frozen one never: there has to be time for another.
constexpr base::Duration member_timeout{2000};
// What is sent before its answers are read has to fit into the buffers on the way, or both sides wait for each other.
constexpr std::size_t max_batch = 32U << 10U;
// Messages tell of entries that go, not of what they hold.
constexpr std::size_t max_message = 1U << 20U;
constexpr std::size_t max_token = 8U << 10U;

std::int64_t boot_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(BootClock::now().time_since_epoch()).count();
}

// What is not UTF-8, such as a password, would be an exception.
std::string text_of(const json& body) { return body.dump(-1, ' ', false, json::error_handler_t::replace); }

bool is_of_token(const Answer& answer) { return !answer && needs_token(answer.error()); }

}  // namespace

void MemberClock::heard(std::string_view date) {
  const auto us = read_date(date);
  if (!us) return;
  // The time is this at least: of several such bounds the highest is the best, where they are of one clock.
  const auto offset = *us - boot_us();
  const bool is_of_one = offset_us_ && std::abs(offset - *offset_us_) <= 1'000'000;
  offset_us_ = is_of_one ? std::max(offset, *offset_us_) : offset;
}

std::int64_t MemberClock::now_us() const { return offset_us_ ? base::time_us_of(boot_us() + *offset_us_) : 0; }

HttpClient::HttpClient(const Address& address, base::Duration timeout)
    : members_(address, words),
      user_(address.user),
      password_(address.password),
      source_(address.password_source),
      shows_certificate_(address.tls && !address.tls->cert.empty()),
      timeout_(timeout) {}

// Where all members have been silent, they are slow: whoever asks again and again at the same pace makes them slower.
base::Duration HttpClient::time_per_member() const {
  return std::min(timeout_, member_timeout * static_cast<base::Duration::rep>(1 + silent_ / members_.size()));
}

Wait HttpClient::bounded(Wait wait) const { return wait.at_most(BootClock::now() + time_per_member()); }

std::string HttpClient::headers() const {
  return "Grpc-Metadata-hasleader: true\r\n" + (token_.empty() ? "" : "Authorization: " + token_ + "\r\n");
}

// Of a connection to the member that is asked, or of asking it.
base::Error HttpClient::lost(base::Error error) {
  http_.reset();
  if (error.code != ErrorCode::unreachable) return error;
  if (stream_ && stream_->member == members_.at()) stream_->is_doubtful = true;
  members_.next();
  return error;
}

// By this answer. A member that ends says for a moment what one with a wrong certificate always says.
base::Error HttpClient::lost_by(const net::HttpAnswer& http, base::Error error) {
  if (error.code != ErrorCode::unreachable) return error;
  if (shows_certificate_ && is_cut_off(http) && ++cut_off_ >= members_.size()) error.code = ErrorCode::configuration;
  return lost(std::move(error));
}

Result<void> HttpClient::open(Wait wait) {
  if (http_ && http_->is_stale()) http_.reset();
  if (!http_) http_ = RLOCK_TRY(connect_any(members_, bounded(wait)));
  if (user_.empty() || !token_.empty() || is_auth_off_) return {};
  return authenticate(wait);
}

Result<void> HttpClient::authenticate(Wait wait) {
  auto asked = ask_token(wait);
  if (asked || asked.error().code != ErrorCode::refused || !source_.has_changed(password_)) return asked;
  return ask_token(wait);
}

Result<void> HttpClient::ask_token(Wait wait) {
  const Call call{"/v3/auth/authenticate", {{"name", user_}, {"password", password_.value_or("")}}};
  const auto answers = RLOCK_TRY(ask_batch({&call, 1}, wait));
  const auto& answer = answers.front();
  if (!answer && is_auth_off(answer.error())) {
    is_auth_off_ = true;
    return {};
  }
  if (!answer) {
    return fail(ErrorCode::refused, name() + " does not accept the user and its password" +
                                        (source_.name.empty() ? "" : "; the password comes from " + source_.name));
  }
  const auto token = answer->find("token");
  const auto* text = token == answer->end() ? nullptr : token->get_ptr<const std::string*>();
  if (text == nullptr || text->empty() || text->size() > max_token || base::has_control(*text)) {
    return fail(ErrorCode::internal, name() + " grants an invalid token");
  }
  token_ = *text;
  return {};
}

// The first of the calls, as many as may travel together.
Result<std::vector<Answer>> HttpClient::ask_batch(std::span<const Call> calls, Wait wait) {
  wait = bounded(wait);
  std::size_t count = 0;
  for (std::size_t size = 0; count < calls.size(); ++count) {
    const auto body = text_of(calls[count].body);
    size += body.size();
    if (count > 0 && size > max_batch) break;
    http_->post(calls[count].path, headers(), body);
  }
  if (auto sent = http_->send(wait); !sent) return std::unexpected(lost(std::move(sent).error()));
  std::vector<net::HttpAnswer> received;
  while (received.size() < count) {
    auto answer = http_->next(wait);
    if (!answer && wait.is_over()) ++silent_;
    if (!answer) return std::unexpected(lost(std::move(answer).error()));
    clock_.heard(answer->date);
    received.push_back(*std::move(answer));
  }
  std::vector<Answer> answers;
  for (const auto& http : received) {
    auto answer = read_answer(http, name());
    if (!answer) return std::unexpected(lost_by(http, std::move(answer).error()));
    answers.push_back(*std::move(answer));
  }
  cut_off_ = silent_ = 0;
  return answers;
}

Result<std::vector<Answer>> HttpClient::ask(std::span<const Call> calls, Wait wait) {
  RLOCK_TRY(open(wait));
  sent_at_ = BootClock::now();
  std::vector<Answer> answers;
  while (answers.size() < calls.size()) {
    auto more = RLOCK_TRY(ask_batch(calls.subspan(answers.size()), wait));
    std::ranges::move(more, std::back_inserter(answers));
  }
  return answers;
}

base::Error HttpClient::without_user() const {
  if (shows_certificate_) {
    return {ErrorCode::configuration,
            name() +
                " asks for a user: its gateway takes no certificate for one; name it in the URL, "
                "etcds://USER@..., with --password-file"};
  }
  return {ErrorCode::refused, name() + " asks for a user; name it in the URL, etcd://USER@..., with --password-file"};
}

Result<std::vector<Answer>> HttpClient::flight(std::span<const Call> calls, Wait wait) {
  auto answers = RLOCK_TRY(ask(calls, wait));
  if (std::ranges::none_of(answers, is_of_token)) return answers;
  token_.clear();
  is_auth_off_ = false;
  if (user_.empty()) return std::unexpected(without_user());
  // A lease that was granted by the first of them would not count from when they are sent again.
  if (std::ranges::any_of(answers, [](const Answer& answer) { return answer.has_value(); })) {
    return fail(ErrorCode::unreachable, name() + ": our token has ended between two requests");
  }
  answers = RLOCK_TRY(ask(calls, wait));
  if (std::ranges::none_of(answers, is_of_token)) return answers;
  token_.clear();
  return fail(ErrorCode::refused, name() + " does not accept the token that it has granted");
}

Result<void> HttpClient::stream(const Call& call, Wait wait) {
  stream_.reset();
  if (!user_.empty() && token_.empty()) RLOCK_TRY(open(wait));
  const auto before = members_.at();
  auto http = RLOCK_TRY(connect_any(members_, bounded(wait)));
  if (members_.at() != before) http_.reset();
  http.post(call.path, headers(), text_of(call.body));
  if (auto sent = http.send(bounded(wait)); !sent) return std::unexpected(lost(std::move(sent).error()));
  stream_.emplace(std::move(http), members_.at());
  return {};
}

std::vector<pollfd> HttpClient::wait_fds() const {
  if (!stream_) return {};
  // What can be written to wakes at once: drain() has something to tell.
  const int events = stream_->is_doubtful ? POLLIN | POLLOUT : POLLIN;
  return {{stream_->http.fd(), static_cast<short>(events), 0}};
}

Result<std::vector<json>> HttpClient::messages() {
  if (stream_->is_doubtful) return fail(ErrorCode::unreachable, name() + ": the member that was watched has failed");
  const auto part = RLOCK_TRY(stream_->http.drain());
  std::vector<json> messages;
  if (part.status == 0) return messages;
  clock_.heard(part.date);
  if (part.status != 200) {
    const auto answer = RLOCK_TRY(read_answer(part, name()));
    if (is_of_token(answer)) token_.clear();
    return fail(ErrorCode::unreachable, name() + " does not let us watch");
  }
  auto& rest = stream_->rest;
  rest += part.body;
  for (auto end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
    auto message = RLOCK_TRY(read_message(std::string_view(rest).substr(0, end), name()));
    if (!message) return fail(ErrorCode::unreachable, name() + " ends the watch");
    messages.push_back(*std::move(message));
    rest.erase(0, end + 1);
  }
  if (rest.size() > max_message) return fail(ErrorCode::unreachable, name() + " sends a message that is too long");
  return messages;
}

Result<std::vector<json>> HttpClient::drain() {
  if (!stream_) return {};
  auto heard = messages();
  if (heard) return heard;
  // What was not heard is asked for again, from the revision of the last view on.
  if (stream_->member == members_.at()) {
    http_.reset();
    members_.next();
  }
  stream_.reset();
  return fail(ErrorCode::unreachable, heard.error().message);
}

}  // namespace rlock::etcd
