#include "redis/address.hpp"

#include "base/number.hpp"
#include "base/text.hpp"

namespace rlock::redis {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::string_view known_forms =
    "write redis://[[user:]password@]host[:port][/db], rediss:// for TLS, unix:///path[?db=N] or local";

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

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

// Undone by unescape. Only what would be read as something else is escaped, so that paths stay readable.
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

// [user:]password. A lone part is the password, as redis-cli has it: taken for a user it would be shown. A user whose
// password comes from elsewhere is `user:`.
base::Result<void> read_credentials(std::string_view credentials, Address& address) {
  const auto colon = credentials.find(':');
  const bool is_lone = colon == std::string_view::npos;
  auto user = unescape(is_lone ? "" : credentials.substr(0, colon));
  auto password = unescape(is_lone ? credentials : credentials.substr(colon + 1));
  if (!user || !password) return fail(ErrorCode::usage, "has a broken % escape");
  address.user = std::move(*user);
  if (!password->empty()) address.password = std::move(*password);
  return {};
}

base::Result<Address> parse_unix(std::string_view rest) {
  Address address;
  address.transport = Transport::unix_socket;
  if (const auto at = rest.find("@/"); at != std::string_view::npos && !rest.starts_with('/')) {
    RLOCK_TRY(read_credentials(rest.substr(0, at), address));
    rest.remove_prefix(at + 1);
  }
  std::string_view query;
  if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
    query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
    if (!query.starts_with("db=")) return fail(ErrorCode::usage, "has a query other than ?db=N");
    const auto database = base::parse_number<int>(query.substr(3), 1'000'000);
    if (!database || *database < 0) return fail(ErrorCode::usage, "has a database that is not a number");
    address.database = *database;
  }
  auto path = unescape(rest);
  if (!path || !path->starts_with('/')) return fail(ErrorCode::usage, "needs an absolute path: unix:///path");
  if (path->find('\0') != std::string::npos) return fail(ErrorCode::usage, "has a NUL in its path");
  if (path->size() > 107) return fail(ErrorCode::usage, "has a path of over 107 bytes, too long for a socket");
  address.path = *path;
  return address;
}

// cacert=FILE&cert=FILE&key=FILE, in any order.
base::Result<TlsSettings> read_tls_settings(std::string_view query) {
  TlsSettings settings;
  while (!query.empty()) {
    const auto item = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(item.size() + 1, query.size()));
    const auto equals = std::min(item.find('='), item.size());
    const auto name = item.substr(0, equals);
    auto* file = name == "cacert" ? &settings.cacert
                 : name == "cert" ? &settings.cert
                 : name == "key"  ? &settings.key
                                  : nullptr;
    if (file == nullptr)
      return fail(ErrorCode::usage, "cannot have another ?query than ?cacert=FILE&cert=FILE&key=FILE");
    const auto path = unescape(item.substr(std::min(equals + 1, item.size())));
    if (!path || path->empty()) return fail(ErrorCode::usage, "names no file in ?" + std::string(name) + "=");
    *file = *path;
  }
  if (settings.cert.empty() != settings.key.empty()) return fail(ErrorCode::usage, "needs both ?cert= and ?key=");
  return settings;
}

std::string query_of(const TlsSettings& settings) {
  std::string query;
  const auto add = [&](std::string_view name, const std::string& file) {
    if (file.empty()) return;
    query += query.empty() ? '?' : '&';
    query += std::string(name) + "=" + escape(file, "%?&#");
  };
  add("cacert", settings.cacert);
  add("cert", settings.cert);
  add("key", settings.key);
  return query;
}

enum class Tls { no, yes };

base::Result<Address> parse_tcp(std::string_view rest, Tls tls) {
  Address address;
  if (tls == Tls::yes) address.tls.emplace();
  // A password may hold an unescaped '@', a host cannot.
  const auto authority = rest.substr(0, rest.find_first_of("/?"));
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    RLOCK_TRY(read_credentials(rest.substr(0, at), address));
    rest.remove_prefix(at + 1);
  }
  if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
    if (tls == Tls::no) return fail(ErrorCode::usage, "cannot have a ?query; that is for rediss://");
    address.tls = RLOCK_TRY(read_tls_settings(rest.substr(mark + 1)));
    rest = rest.substr(0, mark);
  }
  if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
    const auto text = rest.substr(slash + 1);
    const auto database = text.empty() ? std::optional(0) : base::parse_number<int>(text, 1'000'000);
    if (!database || *database < 0) return fail(ErrorCode::usage, "has a database that is not a number");
    address.database = *database;
    rest = rest.substr(0, slash);
  }
  std::optional<std::string_view> port;
  if (rest.starts_with('[')) {
    const auto close = rest.find(']');
    if (close == std::string_view::npos) return fail(ErrorCode::usage, "has an IPv6 address without its ]");
    address.host = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
    if (!rest.empty() && !rest.starts_with(':')) return fail(ErrorCode::usage, "has text after the ] of its host");
    if (!rest.empty()) port = rest.substr(1);
  } else {
    const auto colon = rest.find(':');
    address.host = rest.substr(0, colon);
    if (colon != std::string_view::npos) port = rest.substr(colon + 1);
  }
  if (address.host.empty()) return fail(ErrorCode::usage, "has no host");
  if (base::has_control(address.host)) return fail(ErrorCode::usage, "has a control character in its host");
  if (!port) return address;
  const auto parsed = base::parse_number<unsigned>(*port, 65535);
  if (!parsed || *parsed == 0) return fail(ErrorCode::usage, "has a port that is not 1 to 65535");
  address.port = static_cast<std::uint16_t>(*parsed);
  return address;
}

}  // namespace

base::Result<Address> Address::parse(std::string_view url) {
  constexpr std::string_view tcp = "redis://";
  constexpr std::string_view tls = "rediss://";
  constexpr std::string_view socket = "unix://";
  if (url == "local") {
    Address address;
    address.transport = Transport::unix_socket;
    address.is_local = true;
    return address;
  }
  if (url.starts_with(tcp)) return parse_tcp(url.substr(tcp.size()), Tls::no);
  if (url.starts_with(tls)) return parse_tcp(url.substr(tls.size()), Tls::yes);
  if (url.starts_with(socket)) return parse_unix(url.substr(socket.size()));
  return fail(ErrorCode::usage, "has an unknown form; " + std::string(known_forms));
}

std::string Address::display() const { return name() + (tls ? query_of(*tls) : ""); }

std::string Address::name() const {
  if (is_local) return "local";
  const auto who = user.empty() ? std::string() : escape(user, "%:@/?#") + ":@";
  if (transport == Transport::unix_socket) {
    return "unix://" + who + escape(path, "%?") + (database != 0 ? "?db=" + std::to_string(database) : "");
  }
  const bool is_v6 = host.find(':') != std::string::npos;
  return (tls ? "rediss://" : "redis://") + who + (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port) +
         (database != 0 ? "/" + std::to_string(database) : "");
}

}  // namespace rlock::redis
