#include "lock/names.hpp"

namespace rlock::lock {
namespace {

bool has_hash_tag(std::string_view key) {
  const auto open = key.find('{');
  if (open == std::string_view::npos) return false;
  const auto close = key.find('}', open + 1);
  return close != std::string_view::npos && close > open + 1;
}

}  // namespace

Names::Names(std::string_view wire_key) : lock(wire_key), tag_(has_hash_tag(wire_key) ? ":" + lock : "{" + lock + "}") {
  queue = "rlock:q:" + tag_;
  info = "rlock:i:" + tag_;
  fence = "rlock:f:" + tag_;
}

std::string Names::tombstone(std::string_view token) const { return "rlock:t:" + tag_ + ":" + std::string(token); }
std::string Names::channel(std::string_view token) const { return "rlock:w:" + tag_ + ":" + std::string(token); }
std::string Names::channel_of_all() const { return "rlock:w:" + tag_; }

bool is_side_key(std::string_view name) {
  return name.size() > 8 && name.starts_with("rlock:") &&
         std::string_view("qifthl").find(name[6]) != std::string_view::npos && name[7] == ':' &&
         (name[8] == '{' || name[8] == ':');
}

std::string lock_of_side_key(std::string_view name) {
  if (!name.starts_with("rlock:q:") && !name.starts_with("rlock:i:")) return {};
  const auto tag = name.substr(8);
  if (tag.starts_with(':')) return std::string(tag.substr(1));
  if (tag.size() >= 2 && tag.front() == '{' && tag.back() == '}') return std::string(tag.substr(1, tag.size() - 2));
  return {};
}

}  // namespace rlock::lock
