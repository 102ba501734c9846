#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "stores/redis/locate/address.hpp"

namespace rlock::redis {

enum class Tls { no, yes };

struct Scheme {
  std::string_view name;
  Kind kind;
  Tls tls;
};

/// Of the URLs that name hosts. Of two for the same, Address::display() writes the first, which older rlocks know too.
inline constexpr std::array schemes{
    Scheme{"redis", Kind::server, Tls::no},
    Scheme{"rediss", Kind::server, Tls::yes},
    Scheme{"valkey", Kind::server, Tls::no},
    Scheme{"valkeys", Kind::server, Tls::yes},
    Scheme{"redis+sentinel", Kind::sentinel, Tls::no},
    Scheme{"rediss+sentinel", Kind::sentinel, Tls::yes},
    Scheme{"redis+cluster", Kind::cluster, Tls::no},
    Scheme{"rediss+cluster", Kind::cluster, Tls::yes},
};
inline constexpr std::string_view socket_scheme = "unix";
inline constexpr std::string_view local_url = "local";

/// All of them, with spaces between them.
inline constexpr auto scheme_words = [] {
  constexpr auto length = [] {
    std::size_t all = socket_scheme.size() + 1 + local_url.size();
    for (const auto& scheme : schemes) all += scheme.name.size() + 1;
    return all;
  }();
  std::array<char, length> words{};
  auto* end = words.data();
  const auto add = [&](std::string_view word) {
    if (end != words.data()) *end++ = ' ';
    end = std::ranges::copy(word, end).out;
  };
  for (const auto& scheme : schemes) add(scheme.name);
  add(socket_scheme);
  add(local_url);
  return words;
}();

}  // namespace rlock::redis
