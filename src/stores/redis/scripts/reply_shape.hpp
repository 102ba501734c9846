#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "stores/redis/client/reply.hpp"

namespace rlock::redis {

/// What the replies of the scripts are held against. A reply of another shape than its script promises is not used.

/// Whether a reply is an array of exactly these items: i integer, t text, a array.
inline bool is_shaped(const Reply& reply, std::string_view shape) {
  using Kind = Reply::Kind;
  const auto letter = [](const Reply& item) {
    switch (item.kind) {
      case Kind::integer:
        return 'i';
      case Kind::text:
        return 't';
      case Kind::array:
        return 'a';
      default:
        return '?';
    }
  };
  return reply.kind == Kind::array && std::ranges::equal(reply.items, shape, {}, letter);
}

/// The first integer of a reply that is of this shape.
inline std::optional<std::int64_t> first_of(const Reply& reply, std::string_view shape) {
  return is_shaped(reply, shape) ? std::optional(reply.items[0].integer) : std::nullopt;
}

}  // namespace rlock::redis
