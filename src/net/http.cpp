#include "net/http.hpp"

#include <http_parser.h>

#include <algorithm>
#include <utility>

#include "base/text/text.hpp"

namespace rlock::net {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Wait;

namespace {

// Who asks for more than that asks for it in parts.
constexpr std::size_t max_body = 8U << 20U;
// With its head and what is around its chunks.
constexpr std::size_t max_answer = 2 * max_body;
// Whose body takes no memory. No honest one comes near it.
constexpr std::size_t max_passed_over = 256U << 20U;
constexpr std::size_t max_field = 16;
constexpr std::size_t max_value = 64;

void append_up_to(std::string& text, std::string_view more, std::size_t max) {
  text += more.substr(0, max - std::min(max, text.size()));
}

}  // namespace

// Called by the parser, through which no exception may pass; memory aside, none is thrown.
struct HttpReader::Callbacks {
  static HttpReader& of(http_parser* parser) { return *static_cast<HttpReader*>(parser->data); }

  static int on_field(http_parser* parser, const char* text, std::size_t size) {
    auto& reader = of(parser);
    if (std::exchange(reader.is_in_value_, false)) reader.field_.clear();
    append_up_to(reader.field_, {text, size}, max_field);
    return 0;
  }

  static int on_value(http_parser* parser, const char* text, std::size_t size) {
    auto& reader = of(parser);
    reader.is_in_value_ = true;
    if (base::lowered(reader.field_) == "date") append_up_to(reader.answer_.date, {text, size}, max_value);
    return 0;
  }

  // 1: there is no body to wait for.
  static int on_head(http_parser* parser) {
    of(parser).answer_.status = parser->status_code;
    const bool has_end = (parser->flags & (F_CHUNKED | F_CONTENTLENGTH)) != 0;
    return has_end ? 0 : 1;
  }

  static int on_body(http_parser* parser, const char* text, std::size_t size) {
    auto& answer = of(parser).answer_;
    if (answer.body.size() + size > max_body) answer.is_too_long = true;
    if (answer.is_too_long) {
      answer.body = {};
    } else {
      answer.body.append(text, size);
    }
    return 0;
  }

  // 1xx comes before the answer. What stands behind the end is of the next one, and stays with the caller.
  static int on_end(http_parser* parser) {
    auto& reader = of(parser);
    reader.is_in_value_ = false;
    reader.field_.clear();
    if (parser->status_code / 100 == 1) {
      reader.answer_ = {};
      return 0;
    }
    reader.is_complete_ = true;
    ::http_parser_pause(parser, 1);
    return 0;
  }

  static const http_parser_settings* settings() {
    static const http_parser_settings all = [] {
      http_parser_settings made;
      ::http_parser_settings_init(&made);
      made.on_header_field = on_field;
      made.on_header_value = on_value;
      made.on_headers_complete = on_head;
      made.on_body = on_body;
      made.on_message_complete = on_end;
      return made;
    }();
    return &all;
  }
};

void HttpReader::Free::operator()(http_parser* parser) const { delete parser; }

HttpReader::HttpReader() : parser_(new http_parser) { ::http_parser_init(parser_.get(), HTTP_RESPONSE); }

Result<std::size_t> HttpReader::feed(std::string_view bytes) {
  if (is_complete_ || bytes.empty()) return 0U;
  parser_->data = this;
  const auto taken = ::http_parser_execute(parser_.get(), Callbacks::settings(), bytes.data(), bytes.size());
  const auto error = HTTP_PARSER_ERRNO(parser_.get());
  if (parser_->upgrade != 0) return fail(ErrorCode::unreachable, "switches to another protocol than HTTP");
  if (error != HPE_OK && error != HPE_PAUSED) {
    return fail(ErrorCode::unreachable, std::string("does not speak HTTP: ") + ::http_errno_description(error));
  }
  size_ += taken;
  if (size_ > (answer_.is_too_long ? max_passed_over : max_answer))
    return fail(ErrorCode::unreachable, "sends an answer that is too long");
  return taken;
}

HttpAnswer HttpReader::take() {
  size_ = 0;
  if (!std::exchange(is_complete_, false)) {
    return {answer_.status, answer_.date, std::exchange(answer_.body, {})};
  }
  ::http_parser_pause(parser_.get(), 0);
  return std::exchange(answer_, {});
}

void Http::post(std::string_view path, std::string_view headers, std::string_view body) {
  channel_.append("POST ");
  channel_.append(path);
  channel_.append(" HTTP/1.1\r\nHost: ");
  channel_.append(host_);
  channel_.append("\r\nContent-Type: application/json\r\n");
  channel_.append(headers);
  channel_.append("Content-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  channel_.append(body);
}

Result<void> Http::parse() {
  auto taken = reader_.feed(unread_);
  if (!taken) return fail(taken.error().code, channel_.name() + " " + taken.error().message);
  unread_.erase(0, *taken);
  return {};
}

Result<HttpAnswer> Http::next(Wait wait) {
  while (true) {
    RLOCK_TRY(parse());
    if (reader_.is_complete()) return reader_.take();
    std::array<char, Channel::read_size> bytes;
    const auto size = RLOCK_TRY(channel_.receive(bytes, wait));
    unread_.append(bytes.data(), size);
  }
}

Result<HttpAnswer> Http::drain() {
  const auto take = [&](std::string_view bytes) -> Result<void> {
    unread_ += bytes;
    return parse();
  };
  RLOCK_TRY(channel_.drain(take));
  const bool is_over = reader_.is_complete();
  auto part = reader_.take();
  if (is_over && part.status == 200) return fail(ErrorCode::unreachable, channel_.name() + " has ended its answer");
  return part;
}

bool Http::is_stale() {
  std::array<char, 1> byte;
  const auto received = channel_.read(byte);
  return !received || received->bytes > 0 || !unread_.empty();
}

std::string http_parser_version_text() {
  const auto version = ::http_parser_version();
  return std::to_string(version >> 16U & 255U) + "." + std::to_string(version >> 8U & 255U) + "." +
         std::to_string(version & 255U);
}

}  // namespace rlock::net
