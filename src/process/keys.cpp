#include "process/keys.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace rlock::process {
namespace {

using base::ScrollKey;

constexpr char escape = '\x1b';
// No terminal sends a longer one.
constexpr std::size_t max_sequence = 32;

// As terminals write them behind ESC: with [ or, where applications have the arrows, with O.
constexpr std::array<std::pair<std::string_view, ScrollKey>, 14> sequences{{{"[A", ScrollKey::up},
                                                                            {"OA", ScrollKey::up},
                                                                            {"[B", ScrollKey::down},
                                                                            {"OB", ScrollKey::down},
                                                                            {"[5~", ScrollKey::page_up},
                                                                            {"[6~", ScrollKey::page_down},
                                                                            {"[H", ScrollKey::top},
                                                                            {"OH", ScrollKey::top},
                                                                            {"[1~", ScrollKey::top},
                                                                            {"[7~", ScrollKey::top},
                                                                            {"[F", ScrollKey::bottom},
                                                                            {"OF", ScrollKey::bottom},
                                                                            {"[4~", ScrollKey::bottom},
                                                                            {"[8~", ScrollKey::bottom}}};

std::optional<Key> key_of(char c) {
  switch (c) {
    case 'q':
      return Quit{};
    case 'k':
      return ScrollKey::up;
    case 'j':
      return ScrollKey::down;
    case 'b':
      return ScrollKey::page_up;
    case ' ':
      return ScrollKey::page_down;
    case 'g':
      return ScrollKey::top;
    case 'G':
      return ScrollKey::bottom;
    default:
      return std::nullopt;
  }
}

// How long the sequence is that text begins with, behind its ESC; nullopt: its end has not come.
std::optional<std::size_t> length_of(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text.front() == 'O') return text.size() > 1 ? std::optional<std::size_t>(2) : std::nullopt;
  if (text.front() != '[') return 0;  // the key Esc, and another one behind it
  const auto end = std::find_if(text.begin() + 1, text.end(), [](char c) { return c >= '@' && c <= '~'; });
  if (end != text.end()) return end - text.begin() + 1;
  return text.size() < max_sequence ? std::nullopt : std::optional(text.size());
}

}  // namespace

std::vector<Key> take_keys(std::string& bytes) {
  std::vector<Key> keys;
  std::string_view left = bytes;
  while (!left.empty()) {
    if (left.front() != escape) {
      if (const auto key = key_of(left.front())) keys.push_back(*key);
      left.remove_prefix(1);
      continue;
    }
    const auto length = length_of(left.substr(1));
    if (!length) break;
    const auto* const row =
        std::ranges::find(sequences, left.substr(1, *length), &std::pair<std::string_view, ScrollKey>::first);
    if (row != sequences.end()) keys.emplace_back(row->second);
    left.remove_prefix(1 + *length);
  }
  bytes.erase(0, bytes.size() - left.size());
  return keys;
}

}  // namespace rlock::process
