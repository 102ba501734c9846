#include "net/url.hpp"

#include <algorithm>

#include "base/text/text.hpp"

namespace rlock::net {

using base::ErrorCode;
using base::fail;
using base::take_until;

namespace {

constexpr std::string_view scheme_end = "://";
constexpr std::size_t max_socket_path = 107;  // bytes

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

bool is_scheme_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+'; }

// Where the @ stands that ends the credentials. A password may hold an unescaped '@', a host cannot; that of a Unix
// socket, which has no host, may hold a '/' too.
std::size_t find_at(std::string_view scheme, std::string_view rest) {
  if (scheme.ends_with("unix")) return rest.starts_with('/') ? rest.npos : rest.find("@/");
  return rest.substr(0, rest.find_first_of("/?")).rfind('@');
}

}  // namespace

std::optional<std::string> unescape(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto high = hex_digit(text[i + 1]);
    const auto low = hex_digit(text[i + 2]);
    if (!high || !low) return std::nullopt;
    result += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return result;
}

std::string escape(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) == std::string_view::npos) {
      result += c;
    } else {
      result += '%';
      base::append_hex(result, static_cast<unsigned char>(c));
    }
  }
  return result;
}

base::Result<Url> Url::split(std::string_view text) {
  Url url;
  const auto scheme = text.substr(0, text.find(scheme_end));
  if (scheme.size() == text.size()) return url;
  url.scheme = scheme;
  auto rest = text.substr(scheme.size() + scheme_end.size());
  if (const auto at = find_at(scheme, rest); at != std::string_view::npos) {
    // A lone word is the password, as redis-cli has it, unless somebody knows one from elsewhere.
    auto credentials = rest.substr(0, at);
    rest.remove_prefix(at + 1);
    const bool has_user = credentials.find(':') != std::string_view::npos;
    const auto user = unescape(has_user ? take_until(credentials, ':') : "");
    const auto password = unescape(credentials);
    if (!user || !password) return fail(ErrorCode::usage, "has a broken % escape");
    url.user = *user;
    if (!password->empty()) url.password = *password;
    url.has_lone_word = !has_user && url.password;
  }
  const auto place = take_until(rest, '?');
  while (!rest.empty()) {
    auto item = take_until(rest, '&');
    const auto name = unescape(take_until(item, '='));
    const auto value = unescape(item);
    if (!name || !value) return fail(ErrorCode::usage, "has a broken % escape");
    url.query.emplace_back(*name, *value);
  }
  url.hosts = place.substr(0, place.find('/'));
  url.path = place.substr(url.hosts.size());
  return url;
}

bool Url::host_may_be_secret() const {
  return user.empty() && !password && hosts.find_first_of(".:,") == hosts.npos && hosts != "localhost";
}

base::Result<std::string> Url::socket_path() const {
  auto result = unescape(hosts + path);
  if (!result || !result->starts_with('/')) {
    return fail(ErrorCode::usage, "needs an absolute path: " + scheme + ":///path");
  }
  if (result->find('\0') != result->npos) return fail(ErrorCode::usage, "has a NUL in its path");
  if (result->size() > max_socket_path) {
    return fail(ErrorCode::usage, "has a path of over 107 bytes, too long for a socket");
  }
  return *std::move(result);
}

// A password that has an unescaped / or ? ends there for us, and its @ stands behind, where few URLs have one.
std::string_view advice_on(std::string_view text) {
  const auto place = text.find(scheme_end);
  if (place == text.npos) return "";
  const auto end = text.find_first_of("/?", place + scheme_end.size());
  if (end == text.npos || text.find('@', end) == text.npos) return "";
  return "; in a password write %2F for / and %3F for ?";
}

void add_to_query(std::string& query, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  query += query.empty() ? '?' : '&';
  query += std::string(name) + "=" + escape(value, "%?&#,");
}

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> urls;
  const auto begins_url = [](std::string_view rest) {
    const std::string_view behind(std::ranges::find_if_not(rest, is_scheme_letter), rest.end());
    return (behind.size() < rest.size() && behind.starts_with(scheme_end)) || rest == "local" ||
           rest.starts_with("local,");
  };
  std::size_t from = 0;
  for (auto comma = text.find(','); comma != std::string_view::npos; comma = text.find(',', comma + 1)) {
    const auto next = std::min(text.find_first_not_of(' ', comma + 1), text.size());
    if (!begins_url(text.substr(next))) continue;
    urls.push_back(text.substr(from, comma - from));
    from = next;
  }
  urls.push_back(text.substr(from));
  return urls;
}

}  // namespace rlock::net
