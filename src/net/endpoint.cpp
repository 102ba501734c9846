#include "net/endpoint.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text/number.hpp"
#include "base/text/text.hpp"

namespace rlock::net {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

// Of names, and of IPv6 addresses with their %INTERFACE.
bool is_host_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._:%").find(c) != std::string_view::npos;
}

}  // namespace

std::string Endpoint::name() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Endpoint> read_endpoint(std::string_view text, std::uint16_t default_port) {
  Endpoint endpoint{"", default_port};
  std::optional<std::string_view> port;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return fail(ErrorCode::usage, "has an IPv6 address without its ]");
    endpoint.host = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
    if (!text.empty() && !text.starts_with(':')) return fail(ErrorCode::usage, "has text after the ] of its host");
    if (!text.empty()) port = text.substr(1);
  } else {
    const auto colon = text.find(':');
    endpoint.host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
  }
  if (endpoint.host.empty()) return fail(ErrorCode::usage, "has no host");
  // What ends with %40 is a password, which is not to be shown.
  const bool has_escape = endpoint.host.contains('%') && !endpoint.host.contains(':');
  if (has_escape || !std::ranges::all_of(endpoint.host, is_host_letter)) {
    return fail(ErrorCode::usage, "has a character in its host that no name or address has");
  }
  if (!port) return endpoint;
  const auto parsed = base::parse_number<unsigned>(*port, 65535);
  if (!parsed || *parsed == 0) return fail(ErrorCode::usage, "has a port that is not 1 to 65535");
  endpoint.port = static_cast<std::uint16_t>(*parsed);
  return endpoint;
}

Result<std::vector<Endpoint>> read_endpoints(std::string_view text, std::uint16_t default_port) {
  if (text.starts_with(',') || text.ends_with(',') || text.find(",,") != std::string_view::npos) {
    return fail(ErrorCode::usage, "has an extra comma");
  }
  if (text.find(' ') != std::string_view::npos) {
    return fail(ErrorCode::usage, "has a space in it; write a comma, and no space, between two hosts");
  }
  std::vector<Endpoint> endpoints;
  do {
    auto endpoint = RLOCK_TRY(read_endpoint(base::take_until(text, ','), default_port));
    if (std::ranges::any_of(endpoints, [&](const Endpoint& other) { return is_same(endpoint, other); })) {
      return fail(ErrorCode::usage, "names " + endpoint.name() + " twice");
    }
    endpoints.push_back(std::move(endpoint));
  } while (!text.empty());
  return endpoints;
}

std::string text_of(std::span<const Endpoint> endpoints) {
  std::string text;
  for (const auto& endpoint : endpoints) text += (text.empty() ? "" : ",") + endpoint.name();
  return text;
}

std::string first_elsewhere(std::span<const Endpoint> endpoints) {
  const auto is_here = [](const Endpoint& endpoint) {
    return endpoint.host == "localhost" || endpoint.host == "::1" || endpoint.host.starts_with("127.");
  };
  const auto other = std::ranges::find_if_not(endpoints, is_here);
  return other == endpoints.end() ? "" : other->host;
}

bool is_same(const Endpoint& one, const Endpoint& other) {
  const auto canonical = [](const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> address{};
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (::inet_pton(AF_INET6, host.c_str(), address.data()) == 1) {
      return std::string(::inet_ntop(AF_INET6, address.data(), text.data(), text.size()));
    }
    return base::lowered(host);
  };
  return one.port == other.port && canonical(one.host) == canonical(other.host);
}

}  // namespace rlock::net
