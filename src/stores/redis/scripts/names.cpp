#include "stores/redis/scripts/names.hpp"

#include "stores/redis/locate/slot.hpp"

namespace rlock::redis {
namespace {

// The smallest number that stands in the slot of this key: 16,384 tries on average, a few milliseconds at most.
std::string number_in_slot_of(std::string_view wire_key) {
  const auto slot = hash_slot(wire_key);
  for (int i = 0;; ++i) {
    auto number = std::to_string(i);
    if (hash_slot(number) == slot) return number;
  }
}

std::string tag_of(const std::string& wire_key) {
  if (hash_tag(wire_key).size() < wire_key.size()) return ":" + wire_key;
  if (!wire_key.contains('}')) return "{" + wire_key + "}";
  return "{" + number_in_slot_of(wire_key) + "}:" + wire_key;
}

}  // namespace

Names::Names(std::string_view wire_key) : lock(wire_key), tag_(tag_of(lock)) {}

std::string Names::of(char kind, std::string_view token) const {
  std::string name;
  name.reserve(9 + tag_.size() + token.size());
  name.append("rlock:").append(1, kind).append(":").append(tag_);
  if (!token.empty()) name.append(":").append(token);
  return name;
}

bool is_side_key(std::string_view name) {
  return name.size() > 8 && name.starts_with("rlock:") &&
         std::string_view("qifthlb").find(name[6]) != std::string_view::npos && name[7] == ':' &&
         (name[8] == '{' || name[8] == ':');
}

std::string lock_of_side_key(std::string_view name) {
  if (!name.starts_with("rlock:") || name.size() < 8 ||
      std::string_view("qil").find(name[6]) == std::string_view::npos || name[7] != ':') {
    return {};
  }
  const auto tag = name.substr(8);
  if (tag.starts_with(':')) return std::string(tag.substr(1));
  const auto close = tag.find('}');
  if (!tag.starts_with('{') || close == std::string_view::npos) return {};
  const auto rest = tag.substr(close + 1);
  if (rest.empty()) return std::string(tag.substr(1, close - 1));
  return rest.front() == ':' ? std::string(rest.substr(1)) : std::string();
}

}  // namespace rlock::redis
